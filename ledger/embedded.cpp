#include "ledger/embedded.hpp"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "ledger/child_process.hpp"
#include "ledger/cluster_traces.hpp"
#include "ledger/postgres_programs.hpp"

namespace viewgate::ledger {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t socket_path_max = 107;  // sizeof(sockaddr_un::sun_path) - 1
constexpr std::string_view socket_name = "/.s.PGSQL.5432";
constexpr auto start_time_max = 120s;  // crash recovery of a busy cluster may take long
constexpr auto stop_time_max = 60s;
constexpr std::uintmax_t log_bytes_max = 16U << 20U;

Error fail(errc code, std::string detail) { return Error{code, "", std::move(detail)}; }

}  // namespace

/// One cluster and the process that serves it.
class Embedded::Server {
 public:
  Server(EmbeddedOptions options, Account account)
      : options_(std::move(options)), account_(std::move(account)), directory_(options_.directory) {}
  ~Server() {
    (void)stop(Shutdown::fast);
    if (lock_ >= 0) close(lock_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Result<void> prepare();
  Result<void> launch();
  Result<void> stop(Shutdown how);
  Result<void> make_database();
  [[nodiscard]] bool running() const { return pid_.load() > 0; }
  [[nodiscard]] std::string conninfo(std::string_view database) const;
  [[nodiscard]] const fs::path& socket_directory() const { return socket_; }
  [[nodiscard]] const fs::path& programs() const { return programs_; }

 private:
  Result<void> take_lock();
  Result<void> choose_programs();
  Result<void> choose_socket_directory();
  Result<void> make_cluster();
  Result<void> clear_left_overs();
  Result<void> wait_until_ready();
  [[nodiscard]] std::vector<std::string> command_line() const;
  void keep(std::promise<pid_t> started);
  [[nodiscard]] pid_t spawn_server();
  [[nodiscard]] bool is_to_be_started_again();
  void say(std::string_view line) const {
    if (options_.on_progress) options_.on_progress(line);
  }
  [[nodiscard]] fs::path data() const { return directory_ / "data"; }
  [[nodiscard]] fs::path log() const { return directory_ / "log"; }

  // Constant after prepare().
  EmbeddedOptions options_;
  Account account_;
  fs::path directory_;
  fs::path programs_;
  fs::path socket_;
  int lock_ = -1;
  // The server: its parent thread reaps it and then clears pid_; where it was wanted, it starts it anew.
  std::thread keeper_;
  std::atomic<pid_t> pid_ = 0;
  std::mutex mutex_;  ///< of the two below; held over the fork, so that who stops finds the process or prevents it
  std::condition_variable bell_;
  bool is_wanted_ = true;  ///< nobody has said stop
  bool was_ready_ = false;
};

Result<void> Embedded::Server::take_lock() {
  std::error_code failed;
  const bool made = fs::create_directories(directory_, failed);
  // Whatever our umask says, PostgreSQL's user must be able to enter a directory that we make for it.
  if (made) fs::permissions(directory_, fs::perms(0755), failed);
  if (failed) return fail(errc::unsuitable_database, directory_.string() + " cannot be made: " + failed.message());
  directory_ = fs::canonical(directory_, failed);
  const fs::path file = directory_ / "lock";
  lock_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return fail(errc::unsuitable_database, file.string() + " cannot be opened: " + std::strerror(errno));
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return {};
  return fail(errc::unsuitable_database,
              directory_.string() + " is in use by another process: stop it, or name another directory");
}

Result<void> Embedded::Server::choose_programs() {
  const std::string made_by = first_line_of(data() / "PG_VERSION");
  const int major = made_by.empty() ? 0 : std::atoi(made_by.c_str());
  auto found = find_postgres_programs(options_.programs, major);
  if (!found) return found.error();
  programs_ = std::move(*found);
  if (major == 0 || major == major_version(programs_)) return {};
  return fail(errc::unsuitable_database, data().string() + " was made by PostgreSQL " + made_by + ", and " +
                                             programs_.string() + " is PostgreSQL " +
                                             std::to_string(major_version(programs_)));
}

Result<void> Embedded::Server::choose_socket_directory() {
  socket_ = directory_ / "socket";
  // PostgreSQL splits the setting at commas, and quotes end a name.
  const bool plain = socket_.string().find_first_of(",\"") == std::string::npos;
  if (!plain || socket_.string().size() + socket_name.size() > socket_path_max) {
    char name[40];
    std::snprintf(name, sizeof name, "/tmp/viewgate-%016zx", std::hash<std::string>{}(directory_.string()));
    socket_ = name;
  }
  return make_private_directory(socket_, account_);
}

Result<void> Embedded::Server::make_cluster() {
  if (fs::exists(data() / "PG_VERSION")) return {};
  const fs::path unfinished = directory_ / "data.new";
  std::error_code failed;
  fs::remove_all(unfinished, failed);
  say("making a PostgreSQL cluster in " + directory_.string());
  auto made = make_private_directory(unfinished, account_);
  if (!made) return made.error();
  std::vector<std::string> words = {(programs_ / "initdb").string(),
                                    "--pgdata=" + unfinished.string(),
                                    "--username=postgres",
                                    "--auth=trust",
                                    "--encoding=UTF8",
                                    "--locale=C.UTF-8"};
  if (options_.durability == Durability::volatile_) words.emplace_back("--no-sync");
  if (!run_as(Command(words), account_, log().string())) {
    return fail(errc::unavailable, "initdb failed: " + complaint_in(log()) + " (see " + log().string() + ")");
  }
  fs::rename(unfinished, data(), failed);
  if (failed) return fail(errc::unsuitable_database, data().string() + " cannot be made: " + failed.message());
  return {};
}

/// What a killed owner left: a server that is still shutting down or recovering, sessions without a server, and the
/// files that name a process which is gone (PostgreSQL itself believes them where the number is in use again).
Result<void> Embedded::Server::clear_left_overs() {
  const pid_t named = server_named_in(data());
  const auto left = processes_in(data());
  if (!left.empty()) {
    say("waiting for the PostgreSQL of an earlier run to stop");
    if (std::find(left.begin(), left.end(), named) != left.end()) kill(named, SIGINT);
    if (!wait_until_gone(data(), stop_time_max)) {
      for (const pid_t pid : processes_in(data())) kill(pid, SIGQUIT);
    }
    if (!wait_until_gone(data(), stop_time_max)) {
      return fail(errc::timeout, "an earlier PostgreSQL in " + data().string() + " does not stop");
    }
  }
  std::error_code ignored;
  fs::remove(data() / "postmaster.pid", ignored);
  fs::remove(socket_.string() + std::string(socket_name), ignored);
  fs::remove(socket_.string() + std::string(socket_name) + ".lock", ignored);
  return {};
}

Result<void> Embedded::Server::prepare() {
  auto done = take_lock();
  if (done) done = choose_programs();
  if (!done) return done.error();
  if (!reachable(directory_, account_)) {
    return fail(errc::unsuitable_database,
                directory_.string() + " cannot be entered by user " + account_.name +
                    ", as whom PostgreSQL must run: choose a directory that it may reach, or do not start as root");
  }
  std::error_code ignored;
  if (fs::file_size(log(), ignored) > log_bytes_max && !ignored) fs::rename(log(), directory_ / "log.old", ignored);
  const int file = open(log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || fchown(file, account_.uid, account_.gid) != 0) {
    if (file >= 0) close(file);
    return fail(errc::unsuitable_database, log().string() + " cannot be written");
  }
  close(file);
  done = choose_socket_directory();
  if (done) done = make_cluster();
  return done;
}

std::vector<std::string> Embedded::Server::command_line() const {
  std::vector<std::string> words = {(programs_ / "postgres").string(), "-D", data().string()};
  std::vector<std::string> settings = {"listen_addresses=", "port=5432", "unix_socket_directories=" + socket_.string(),
                                       "unix_socket_permissions=0700", "shared_buffers=256MB", "max_wal_size=2GB",
                                       // The ledger's tables of waiting work turn over thousands of rows a second.
                                       "autovacuum_naptime=5s", "jit=off"};
  const bool durable = options_.durability == Durability::durable;
  for (const char* name : {"fsync", "full_page_writes"})
    settings.push_back(std::string(name) + (durable ? "=on" : "=off"));
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  for (std::string& setting : settings) {
    words.emplace_back("-c");
    words.push_back(std::move(setting));
  }
  return words;
}

/// PR_SET_PDEATHSIG follows the forking thread, so that one waits as long as the server lives; setsid keeps a Ctrl-C in a
/// terminal from reaching the server before its owner has drained. -1: nobody wants it any more, or there is no new process.
pid_t Embedded::Server::spawn_server() {
  const Command command(command_line());
  const std::string log_file = log().string();
  const pid_t owner = getpid();
  const std::lock_guard lock(mutex_);
  const pid_t pid = is_wanted_ ? fork() : -1;
  if (pid == 0) {
    setsid();
    if (!become(account_) || prctl(PR_SET_PDEATHSIG, SIGINT) != 0 || getppid() != owner) _exit(126);
    redirect(log_file.c_str());
    // PostgreSQL looks for its own files from where it stands, and the account may not be allowed to stand where we do.
    if (chdir("/") != 0) _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    command.exec();
  }
  pid_.store(pid);
  return pid;
}

/// A server that was ready and has ended without being told to has crashed, or found no room for its log. Until it is
/// started again a second goes by, or its owner wants it no more.
bool Embedded::Server::is_to_be_started_again() {
  std::unique_lock lock(mutex_);
  if (was_ready_) bell_.wait_for(lock, 1s, [this] { return !is_wanted_; });
  return was_ready_ && is_wanted_;
}

/// The keeper thread.
void Embedded::Server::keep(std::promise<pid_t> started) {
  pid_t pid = spawn_server();
  started.set_value(pid);
  for (;;) {
    while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_.store(0);
    if (!is_to_be_started_again()) return;
    say("PostgreSQL has ended by itself: starting it again");
    const auto cleared = clear_left_overs();
    pid = cleared ? spawn_server() : -1;
  }
}

Result<void> Embedded::Server::launch() {
  auto cleared = clear_left_overs();
  if (!cleared) return cleared.error();
  if (keeper_.joinable()) keeper_.join();
  is_wanted_ = true;
  was_ready_ = false;
  say("starting PostgreSQL");
  std::promise<pid_t> started;
  auto pid = started.get_future();
  keeper_ = std::thread([this](std::promise<pid_t> promise) { keep(std::move(promise)); }, std::move(started));
  if (pid.get() < 0) return fail(errc::unavailable, "PostgreSQL cannot be started: no new process");
  auto ready = wait_until_ready();
  if (!ready) {
    (void)stop(Shutdown::immediate);
    return ready;
  }
  const std::lock_guard lock(mutex_);
  was_ready_ = true;
  return ready;
}

Result<void> Embedded::Server::wait_until_ready() {
  const auto begin = std::chrono::steady_clock::now();
  bool told = false;
  while (PQping(conninfo("postgres").c_str()) != PQPING_OK) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (!running()) {
      return fail(errc::unavailable,
                  "PostgreSQL did not start: " + complaint_in(log()) + " (see " + log().string() + ")");
    }
    if (waited > start_time_max)
      return fail(errc::timeout, "PostgreSQL is not ready after two minutes (see " + log().string() + ")");
    if (waited > 1s && !told) {
      say("PostgreSQL is recovering");
      told = true;
    }
    std::this_thread::sleep_for(10ms);
  }
  return {};
}

Result<void> Embedded::Server::stop(Shutdown how) {
  // Not started by us (the directory may be another process's): not ours to stop.
  if (!keeper_.joinable()) return {};
  const int signal = how == Shutdown::fast ? SIGINT : how == Shutdown::immediate ? SIGQUIT : SIGKILL;
  pid_t pid = 0;
  {
    const std::lock_guard lock(mutex_);
    is_wanted_ = false;
    pid = pid_.load();
  }
  bell_.notify_all();
  if (pid > 0) kill(pid, signal);
  bool gone = wait_until_gone(data(), stop_time_max);
  if (!gone) {
    // A session that does not end in a minute: the next start recovers, which is what PostgreSQL is good at.
    for (const pid_t left : processes_in(data())) kill(left, SIGKILL);
    gone = wait_until_gone(data(), stop_time_max);
  }
  if (keeper_.joinable() && gone) keeper_.join();
  if (gone) return {};
  return fail(errc::timeout, "PostgreSQL in " + data().string() + " does not stop");
}

Result<void> Embedded::Server::make_database() {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(conninfo("postgres").c_str()), PQfinish);
  using Rows = std::unique_ptr<PGresult, decltype(&PQclear)>;
  const Rows found(PQexec(connection.get(), "select 1 from pg_catalog.pg_database where datname = 'viewgate'"),
                   PQclear);
  if (PQresultStatus(found.get()) == PGRES_TUPLES_OK && PQntuples(found.get()) == 1) return {};
  const Rows made(PQexec(connection.get(), "create database viewgate"), PQclear);
  if (PQresultStatus(made.get()) == PGRES_COMMAND_OK) return {};
  return fail(errc::unavailable,
              std::string("the database viewgate cannot be made: ") + PQerrorMessage(connection.get()));
}

std::string Embedded::Server::conninfo(std::string_view database) const {
  std::string host;
  for (const char c : socket_.string()) {
    if (c == '\'' || c == '\\') host += '\\';
    host += c;
  }
  return "host='" + host + "' port=5432 user=postgres dbname='" + std::string(database) + "'";
}

Embedded::Embedded(std::unique_ptr<Server> server) : server_(std::move(server)) {}
Embedded::~Embedded() = default;

Result<std::unique_ptr<Embedded>> Embedded::start(EmbeddedOptions options) {
  auto account = account_for_postgres();
  if (!account) return account.error();
  auto server = std::make_unique<Server>(std::move(options), std::move(*account));
  auto done = server->prepare();
  if (done) done = server->launch();
  if (done) done = server->make_database();
  if (!done) return done.error();
  return std::unique_ptr<Embedded>(new Embedded(std::move(server)));
}

std::string Embedded::conninfo(std::string_view database) const { return server_->conninfo(database); }
Result<void> Embedded::stop(Shutdown how) { return server_->stop(how); }
Result<void> Embedded::restart(Shutdown how) {
  auto stopped = server_->stop(how);
  return stopped ? server_->launch() : stopped;
}
bool Embedded::running() const { return server_->running(); }
const fs::path& Embedded::socket_directory() const { return server_->socket_directory(); }
const fs::path& Embedded::programs() const { return server_->programs(); }

}  // namespace viewgate::ledger
