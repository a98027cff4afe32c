#include "simulator/world.hpp"

#include <algorithm>

namespace viewgate::simulator {

using std::chrono::milliseconds;

namespace {

template <class Value>
Value one_of(Random& random, std::initializer_list<Value> values) {
  return *(values.begin() + random() % values.size());
}

std::vector<gateway::Subscribe> random_wishes(Random& random, const std::vector<std::string>& spaces) {
  std::vector<gateway::Subscribe> out;
  const auto add = [&](const std::string& view, const std::string& params, const std::string& space) {
    const bool known = std::ranges::any_of(
        out, [&](const auto& each) { return each.view == view && each.params == params && each.space == space; });
    if (!known) out.push_back(gateway::testing::subscribe("", view, params, space));
  };
  for (std::size_t count = 1 + random() % 3; count > 0; --count) {
    const auto& space = spaces[random() % spaces.size()];
    if (random() % 2 == 0) {
      add("overdrawn", "{}", space);
    } else {
      add("owned", one_of<const char*>(random, {R"({"owner":"ann"})", R"({"owner":"bob"})"}), space);
    }
  }
  return out;
}

}  // namespace

WorldSize random_size(Random& random) {
  WorldSize out;
  out.session.ring_bytes = one_of<std::size_t>(random, {256, 1024, 4096, 65536});
  out.session.rings_bytes = one_of<std::size_t>(random, {2048, 1 << 20});
  out.session.server_message_bytes = one_of<std::size_t>(random, {100, 700, 262144});
  out.session.group_linger = milliseconds(one_of(random, {0, 100, 5000}));
  out.session.hello_time = milliseconds(2000);
  out.session.heartbeat = milliseconds(1000);
  out.session.silence = milliseconds(8000);
  out.session.no_progress = milliseconds(3000);
  out.session.close_time = milliseconds(200);
  out.session.join_time = milliseconds(one_of(random, {300, 10000}));
  out.session.messages_per_second = 100'000;
  out.session.control_frames_per_second = 100'000;
  out.engine.reactor_backlog_bytes = one_of<std::size_t>(random, {1, 2000, 1 << 20});
  out.engine.space_bytes = one_of<std::size_t>(random, {1, 1000, 100'000});
  out.engine.frame_bytes = one_of<std::size_t>(random, {1, 400, 100'000});
  out.engine.history_commit_bytes = one_of<std::size_t>(random, {100, 1'000'000});
  out.engine.history_total_bytes = one_of<std::size_t>(random, {300, 1 << 20});
  out.engine.history_bytes = one_of<std::size_t>(random, {1, 500, 100'000});
  out.engine.snapshot_chunk_bytes = one_of<std::size_t>(random, {1, 120, 65536});
  out.engine.snapshot_page_rows = one_of<std::size_t>(random, {1, 3, 20'000});
  out.engine.snapshot_memory_bytes = one_of<std::size_t>(random, {200, 2000, 1 << 20});
  out.engine.snapshot_disk_bytes = one_of<std::size_t>(random, {4000, 1 << 24});
  out.engine.snapshot_concurrent = one_of<std::size_t>(random, {1, 4});
  out.engine.snapshot_queue = one_of<std::size_t>(random, {1, 256});
  out.engine.snapshot_is_uncached = out.engine.snapshot_queue == 1;
  out.engine.snapshot_reuse = milliseconds(one_of(random, {0, 300, 2000}));
  out.engine.snapshot_reuse_commits = one_of(random, {0, 5, 2000});
  out.engine.progress_interval = milliseconds(one_of(random, {50, 500}));
  out.engine.linger = milliseconds(one_of(random, {0, 100, 5000}));
  out.engine.retry_after = milliseconds(50);
  out.pipe_bytes = one_of<std::size_t>(random, {64, 1000, 100'000});
  out.changes_per_part = one_of<std::size_t>(random, {1, 4, 1000});
  out.fault_one_in = one_of(random, {1U, 5U, 20U});
  out.clients = 2 + random() % 4;
  return out;
}

World::World(unsigned seed)
    : random_(seed),
      size_(random_size(random_)),
      ledger_({"s", "t"}),
      now_{std::chrono::steady_clock::time_point{} + std::chrono::hours{1},
           std::chrono::system_clock::time_point{} + std::chrono::hours{500'000}},
      verifier_(gateway::testing::token_verifier()),
      model_(gateway::testing::active_model()) {
  for (int i = 0; i < 6; ++i) ledger_.commit("s", random_);
  restart_gateway();
  for (std::size_t i = 0; i < size_.clients; ++i) {
    auto wishes = random_wishes(random_, ledger_.spaces());
    clients_.push_back(std::make_unique<SimClient>("client" + std::to_string(i), std::move(wishes), violations_));
    for (const auto& each : clients_.back()->slots()) each->spec = gateway::testing::spec_of(model_, each->request);
  }
}

World::~World() {
  for (const auto& each : clients_) each->cut();
}

void World::restart_gateway() {
  for (const auto& each : clients_) each->cut();
  gateway_.reset();
  gateway_ = std::make_unique<SimGateway>(size_, ledger_, random_, now_, verifier_, model_);
  gateway_->reader().failures_one_in = faults_ ? 60 : 0;
}

void World::connect(SimClient& client) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now_.wall);
  client.connect(gateway_->fanout(random_() % SimGateway::reactors), size_.pipe_bytes,
                 gateway::testing::token_for("ann", seconds, std::chrono::hours{24}), now_);
}

void World::pass(milliseconds time) {
  now_.steady += time;
  now_.wall += time;
  gateway_->tick();
  for (const auto& each : clients_) {
    if (SimConnection* connection = each->connection()) connection->on_tick(now_);
  }
}

void World::step() {
  switch (random_() % 12) {
    case 0:
      if (faults_) ledger_.commit(any_space(), random_);
      return;
    case 1:
      // A lost wake-up is one that is not drawn; the next look comes all the same.
      return gateway_->look(any_space());
    case 2:
      return pass(milliseconds(random_() % 30));
    case 3:
    case 4:
    case 5:
    case 6:
      return move_client(any_client());
    case 7:
      if (faults_ && one_in(random_, size_.fault_one_in)) fault();
      return;
    default:
      for (int i = 0; i < 4; ++i) gateway_->step();
  }
}

void World::move_client(SimClient& client) {
  if (!client.connected()) {
    if (one_in(random_, 4)) connect(client);
    return;
  }
  const bool stalled = std::ranges::find(stalled_, &client) != stalled_.end();
  const std::size_t bytes = one_in(random_, 3) ? 1 + random_() % 40 : 1'000'000;
  if (one_in(random_, 2)) {
    client.want(now_);
    client.write(bytes, now_);
  } else if (!stalled) {
    client.read(bytes, now_);
    // Looking at every set after every read would take most of the time; a set that is wrong stays wrong.
    if (one_in(random_, 8)) {
      for (const auto& each : client.slots()) check(*each);
    }
  }
}

void World::fault() {
  SimClient& client = any_client();
  switch (random_() % 16) {
    case 0:
    case 1:
      if (client.connected()) client.read(random_() % 200, now_);
      if (client.connected()) client.cut();
      return;
    case 2:
      stalled_.push_back(&client);
      return;
    case 3:
    case 4:
      stalled_.clear();
      return;
    case 5:
      if (one_in(random_, 4)) ledger_.prune(any_space(), random_);
      return;
    case 6:
      // Every connection of the database breaks; sometimes another one takes its place, without the newest commits.
      if (one_in(random_, 2)) gateway_->disconnect();
      if (one_in(random_, 6)) {
        gateway_->disconnect();
        ledger_.restore(any_space(), random_);
      }
      return;
    case 7:
      if (one_in(random_, 8)) restart_gateway();
      return;
    case 8:
      for (int i = 0; i < 20; ++i) ledger_.commit(any_space(), random_);
      return;
    case 9:
      if (one_in(random_, 3)) pass(milliseconds(random_() % 4000));
      return;
    default:
      return act_as_user(client);
  }
}

void World::act_as_user(SimClient& client) {
  Slot& slot = *client.slots()[random_() % client.slots().size()];
  if (!client.connected()) return;
  switch (random_() % 5) {
    case 0:
      return client.leave(slot);
    case 1:
    case 2:
      return client.cast_shadow(slot);
    case 3:
      return client.step_into_shadow(slot);
    default:
      if (slot.link == Slot::Link::none) slot.fold.forget();
  }
}

void World::run_with_faults(int steps) {
  for (int i = 0; i < steps && violations_.count() == 0; ++i) step();
}

bool World::run_to_head(int steps) {
  faults_ = false;
  stalled_.clear();
  gateway_->reader().failures_one_in = 0;
  for (int i = 0; i < steps && violations_.count() == 0; ++i) {
    step();
    if (i % 50 != 0) continue;
    const bool all = std::ranges::all_of(clients_, [&](const auto& client) {
      return std::ranges::all_of(client->slots(), [&](const auto& slot) { return at_head(*slot); });
    });
    if (all) return true;
  }
  return false;
}

loadtest::Fold::Records World::view_of(const Slot& slot, const FakeLedger::Rows& rows) const {
  std::string records;
  for (const auto& [id, row] : rows) {
    const auto record = slot.spec->group->snapshot_record(row);
    if (!record.value()) continue;
    records += records.empty() ? "[" : ",";
    records += **record;
  }
  loadtest::Violations none;
  loadtest::Fold out("oracle", none);
  out.subscribed("context", false);
  if (!records.empty()) out.snapshot(records + "]");
  return out.records();
}

void World::check(const Slot& slot) {
  if (!slot.fold.live() || violations_.count() > 0) return;
  const auto states = ledger_.states_at(slot.request.space, slot.fold.sequence());
  const bool some =
      std::ranges::any_of(states, [&](const auto& rows) { return view_of(slot, rows) == slot.fold.records(); });
  if (!some) violations_.add(slot.fold.name() + ": is not the view at " + std::to_string(slot.fold.sequence()));
}

bool World::at_head(const Slot& slot) {
  if (!slot.fold.live() || slot.fold.sequence() != ledger_.head(slot.request.space).sequence.value) return false;
  return view_of(slot, ledger_.rows(slot.request.space)) == slot.fold.records();
}

std::string World::describe() const {
  std::string out;
  for (const auto& each : ledger_.spaces())
    out += each + " is at " + std::to_string(ledger_.head(each).sequence.value) + "\n";
  for (const auto& each : clients_) out += each->describe() + "\n";
  return out;
}

std::uint64_t World::commits_folded() const {
  std::uint64_t out = 0;
  for (const auto& client : clients_) {
    for (const auto& slot : client->slots()) out += slot->fold.commits();
  }
  return out;
}

}  // namespace viewgate::simulator
