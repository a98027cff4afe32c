#include "gateway/server.hpp"

#include <malloc.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "auth/token_verifier.hpp"
#include "gateway/admin_explain.hpp"
#include "gateway/admin_inspect.hpp"
#include "gateway/admin_metrics.hpp"
#include "gateway/admin_revocations.hpp"
#include "gateway/bootstrap_thread.hpp"
#include "gateway/command_database.hpp"
#include "gateway/config_reload.hpp"
#include "gateway/disk_budget.hpp"
#include "gateway/draining.hpp"
#include "gateway/engine.hpp"
#include "gateway/errors.hpp"
#include "gateway/housekeeping_log.hpp"
#include "gateway/http_router.hpp"
#include "gateway/inspector_page.hpp"
#include "gateway/key_follower.hpp"
#include "gateway/log.hpp"
#include "gateway/memory_watch.hpp"
#include "gateway/model_follower.hpp"
#include "gateway/posted_engine.hpp"
#include "gateway/process_files.hpp"
#include "gateway/signing_key.hpp"
#include "gateway/tls_files.hpp"
#include "gateway/version.hpp"
#include "gateway/watchdog.hpp"
#include "gateway/wiring.hpp"
#include "ledger/mutator.hpp"
#include "ledger/registry.hpp"
#include "ledger/revocation_watch.hpp"

namespace viewgate::gateway {

namespace asio = boost::asio;

class Server::Column {
 public:
  Column(const Config& config, const std::string& conninfo, Identity identity, const Endpoint& endpoint,
         ServerSurroundings surroundings)
      : config_(config),
        endpoint_(endpoint),
        surroundings_(std::move(surroundings)),
        tls_(TlsFiles::of(config)),
        keys_(io_, verifier_, [this] { tell_of_keys(); }),
        registry_(io_, conninfo, config.database_time),
        models_(io_, registry_, config.time_retry, [this](const ActiveModelPtr& model) { take_model(model); }),
        revocations_(io_, conninfo, revocation_options(config)),
        reader_(io_, conninfo, reader_options(config)),
        bootstraps_(io_, conninfo, bootstrap_reader_options(config)),
        engine_(engine_limits(config), engine_surroundings(), reader_, bootstraps_, [this] { models_.read(); }),
        tailer_(io_, conninfo, tailer_options(config, endpoint), engine_),
        mutator_(io_, conninfo, mutator_options(config), [this] { tailer_.wake(); }),
        posted_engine_(io_, engine_),
        log_desk_(config.raw_log_claim.empty()
                      ? nullptr
                      : std::make_unique<LogDesk>(log_desk_options(config, conninfo), verifier_)),
        http_mutations_(io_, mutator_, verifier_, http_mutation_options(config)),
        access_store_(io_, conninfo, access_store_options(config)),
        tickets_(io_, access_store_, verifier_, config.auth_ticket_time),
        admission_(std::make_shared<Admission>(admission_limits(config))),
        view_desk_(
            bootstraps_.loop(),
            [this](GroupSpecPtr group, std::string principal, std::function<void(BootstrapReply)> reply) {
              asio::post(io_, [this, group = std::move(group), principal = std::move(principal),
                               reply = std::move(reply)]() mutable {
                engine_.bootstrap_once(std::move(group), std::move(principal), std::move(reply));
              });
            },
            verifier_, view_desk_options(config)),
        router_(verifier_, admission_, log_desk_.get(), config.raw_log_claim, &http_mutations_, &tickets_, &view_desk_),
        admin_(admin_door(config)),
        explain_(admin_ ? std::make_unique<AdminExplain>(conninfo, config.database_time) : nullptr),
        inspect_(admin_ ? std::make_unique<AdminInspect>(inspect_sources(conninfo)) : nullptr) {
    engine_.attach(tailer_);
    engine_.attach(mutator_);
    keys_.replace(std::move(identity), anonymous_of(config), key_source_options(config));
  }

  ~Column() {
    // Before what they ask and work for, and all of them before any goes: reactors ask each other for room.
    for (auto& reactor : reactors_) reactor->stop();
    if (admin_) admin_->stop();
    if (inspect_) inspect_->stop();
    bootstraps_.stop();
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  void run(const std::function<void()>& listening) {
    wait_for_signal();
    wait_for_hangup();
    if (tls_) check_tls_later();
    if (!first_model() || !first_revocations()) return;
    http_mutations_.set_model(models_.model());
    view_desk_.set_model(models_.model());
    open_reactors();
    tailer_.start();
    tick();
    open_admin();
    for (auto& reactor : reactors_) reactor->set_ready(true);
    const ProcessFiles files(config_, endpoint_);
    watchdog_.start();
    serving_ = true;
    listening();
    tell_ready();
    log::info("listening", {{"address", endpoint_.address}, {"port", endpoint_.port}, {"reactors", reactors_.size()}});
    io_.run();
    log::info("stopped");
  }

 private:
  EngineSurroundings engine_surroundings() {
    EngineSurroundings out;
    out.reactors = reactor_count(config_);
    out.post = [this](std::size_t reactor, std::function<void(ReactorPort&)> call) {
      reactors_[reactor]->post(std::move(call));
    };
    out.aside = bootstraps_.aside();
    out.erased = [this](const std::string& space, ledger::Sequence through) { view_desk_.on_erased(space, through); };
    out.now = [] { return std::chrono::steady_clock::now(); };
    return out;
  }

  /// False: a signal came before it was read.
  bool first_model() {
    std::optional<ledger::Result<ActiveModelPtr>> loaded;
    models_.start([&](ledger::Result<ActiveModelPtr> result) { loaded.emplace(std::move(result)); });
    while (!loaded && io_.run_one() > 0) {
    }
    if (loaded && !*loaded) stop_start_for(loaded->error());
    return loaded.has_value();
  }

  void tell_of_keys() {
    for (auto& reactor : reactors_) reactor->post([](ReactorPort& port) { port.on_keys(); });
  }

  /// What was revoked is known before the first client comes. False: a signal came before it was read.
  bool first_revocations() {
    revocations_.start([this](std::vector<ledger::Revocation> found) {
      revocations_known_ = true;
      verifier_.revoke(for_verifier(std::move(found)), std::chrono::system_clock::now());
      for (auto& reactor : reactors_) reactor->post([](ReactorPort& port) { port.on_revoked(); });
    });
    while (!revocations_known_ && io_.run_one() > 0) {
    }
    return revocations_known_;
  }

  void open_reactors() {
    for (std::size_t i = 0; i < reactor_count(config_); ++i) {
      auto options = reactor_options(config_, i, endpoint_);
      options.http_api = &router_;
      options.tickets = &tickets_;
      if (tls_) options.tls = &tls_->identity();
      options.on_crowded = [this] {
        for (auto& reactor : reactors_) reactor->make_room();
      };
      options.session.admission = admission_;
      options.memory = &memory_;
      reactors_.push_back(std::make_unique<Reactor>(std::move(options), posted_engine_, verifier_, models_.model()));
    }
    try {
      for (auto& reactor : reactors_) reactor->listen();
    } catch (const std::system_error& error) {
      throw Stop(ExitStatus::port_in_use, error.what());
    }
    for (auto& reactor : reactors_) reactor->start();
  }

  /// Null: there is no credential, so nobody could use it. Throws Stop.
  static std::unique_ptr<AdminDoor> admin_door(const Config& config) {
    if (config.admin_key_file.empty()) return nullptr;
    return std::make_unique<AdminDoor>(admin_options(config, admin_credential(config)));
  }

  [[nodiscard]] EngineReading read_engine() const {
    return {engine_.degraded(),
            engine_.groups(),
            engine_.spaces(),
            engine_.recent_bytes(),
            engine_.snapshot_memory_bytes(),
            engine_.snapshot_disk_bytes(),
            engine_.commits(),
            engine_.frames(),
            engine_.backlogs(),
            engine_.bootstraps_over_share(),
            engine_.bootstrap_queue_full(),
            view_desk_.over_limit(),
            admission_->refusals(),
            tailer_.stats(),
            tailer_.lags(),
            mutator_.stats(),
            disk_budget_.bytes(tailer_.stats().size),
            reader_.pool(),
            bootstraps_.pool(),
            models_.model()->broken.size(),
            keys_.missing(),
            tls_ && tls_->is_stale()};
  }

  [[nodiscard]] InspectSources inspect_sources(const std::string& conninfo) {
    return {io_,
            engine_,
            tailer_,
            [this] { return read_engine(); },
            reactors_,
            conninfo,
            std::string(program_version),
            tailer_options(config_, endpoint_).node,
            config_.database_time};
  }

  void open_admin() {
    if (!admin_) return;
    add_revocations(*admin_, io_, access_store_);
    explain_->set_model(models_.model());
    explain_->add_to(*admin_);
    inspect_->add_to(*admin_);
    add_inspector(*admin_);
    add_metrics(
        *admin_, io_, [this] { return read_engine(); }, reactors_);
    try {
      admin_->start();
    } catch (const std::system_error& error) {
      throw Stop(ExitStatus::port_in_use, error.what());
    }
    log::info("admin_listening", {{"address", config_.admin_listen}, {"port", admin_->port()}});
  }

  void tick() {
    tick_timer_.expires_after(tick_interval(config_));
    tick_timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      engine_.tick();
      const ledger::TailerStats tail = tailer_.stats();
      disk_budget_.watch(tail.size);
      housekeeping_log_.watch(tail.housekeeping, std::chrono::steady_clock::now());
      tick();
    });
  }

  void take_model(const ActiveModelPtr& model) {
    engine_.set_model(model);
    http_mutations_.set_model(model);
    view_desk_.set_model(model);
    if (explain_) explain_->set_model(model);
  }

  void wait_for_signal() {
    signals_.async_wait([this](const boost::system::error_code& cancelled, int) {
      if (cancelled) return;
      if (std::exchange(draining_, true)) {
        finish();
        return;
      }
      drain();
      wait_for_signal();
    });
  }

  /// Not an end, also where there is nothing to read anew.
  void wait_for_hangup() {
    hangups_.async_wait([this](const boost::system::error_code& cancelled, int) {
      if (cancelled) return;
      if (serving_) surroundings_.manager.reloading();
      if (!draining_) reload_.read_again();
      if (serving_) tell_ready();
      wait_for_hangup();
    });
  }

  void tell_ready() { surroundings_.manager.ready("listening on " + endpoint_text(endpoint_)); }

  void check_tls_later() {
    tls_timer_.expires_after(config_.tls_check);
    tls_timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      tls_->read_again_where_changed();
      check_tls_later();
    });
  }

  void drain() {
    log::info("draining", {{"window_ms", config_.drain_window.count()}});
    serving_ = false;
    surroundings_.manager.stopping(drain_time_max());
    draining_clients_.begin(reactors_, config_.drain_window, drain_time_max(), [this] { finish(); });
  }

  /// The window, the time to close, and a moment for the loops themselves.
  [[nodiscard]] std::chrono::milliseconds drain_time_max() const {
    return config_.drain_window + config_.time_close + std::chrono::seconds(1);
  }

  void finish() {
    for (auto& reactor : reactors_) reactor->stop();
    if (admin_) admin_->stop();
    access_store_.stop();
    mutator_.stop();
    tailer_.stop();
    reader_.stop();
    engine_.close();
    bootstraps_.stop();
    registry_.stop();
    revocations_.stop();
    io_.stop();
  }

  Config config_;
  const Endpoint endpoint_;
  const ServerSurroundings surroundings_;
  asio::io_context io_{1};
  asio::signal_set signals_{io_, SIGINT, SIGTERM};
  asio::signal_set hangups_{io_, SIGHUP};
  asio::steady_timer tick_timer_{io_};
  asio::steady_timer tls_timer_{io_};
  Draining draining_clients_{io_};

  // The column: each uses only what stands above it.
  const std::unique_ptr<TlsFiles> tls_;
  auth::TokenVerifier verifier_;
  KeyFollower keys_;  ///< the reactors' threads ask it
  ledger::Registry registry_;
  ModelFollower models_;
  ledger::RevocationWatch revocations_;
  ledger::Reader reader_;
  BootstrapThread bootstraps_;
  Engine engine_;
  ledger::Tailer tailer_;
  ledger::Mutator mutator_;
  PostedEngine posted_engine_;
  const std::unique_ptr<LogDesk> log_desk_;
  HttpMutations http_mutations_;
  ledger::AccessStore access_store_;
  TicketDesk tickets_;
  const std::shared_ptr<Admission> admission_;
  ViewDesk view_desk_;
  HttpRouter router_;
  const std::unique_ptr<AdminDoor> admin_;
  const std::unique_ptr<AdminExplain> explain_;  ///< where there is an operators' port
  const std::unique_ptr<AdminInspect> inspect_;  ///< likewise
  /// What the allocator keeps is given back by a thread that may take its time.
  MemoryWatch memory_{memory_bounds(static_cast<std::uint64_t>(config_.limit_memory)), read_memory_use,
                      [this] { asio::post(bootstraps_.loop(), [] { ::malloc_trim(0); }); }};
  std::vector<std::unique_ptr<Reactor>> reactors_;
  Watchdog watchdog_{io_, surroundings_.manager, reactors_};
  ConfigReload reload_{{config_, endpoint_, surroundings_.read_config, keys_, tls_.get(), admission_, engine_,
                        view_desk_, admin_.get(), reactors_}};

  HousekeepingLog housekeeping_log_;
  DiskBudget disk_budget_{static_cast<std::uint64_t>(config_.ledger_disk_bytes), config_.embedded};
  bool revocations_known_ = false;
  bool serving_ = false;  ///< as the service manager knows it
  bool draining_ = false;
};

Server::Server(const Config& config, const std::string& conninfo, Identity identity, const Endpoint& endpoint,
               ServerSurroundings surroundings)
    : column_(std::make_unique<Column>(config, conninfo, std::move(identity), endpoint, std::move(surroundings))) {}
Server::~Server() = default;
void Server::run(const std::function<void()>& listening) { column_->run(listening); }

}  // namespace viewgate::gateway
