// An engine with everything around it faked at the edge: the tail and the reader are driven by the test, reactors write
// down what they are told, posts run when the test says so, and the clock is the test's.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gateway/engine.hpp"
#include "gateway/protocol_json.hpp"
#include "projection/model_parser.hpp"

namespace viewgate::gateway::testing {

inline const char* const model_text = R"(
create table accounts (id int4 primary key, owner text, balance int4);
create view overdrawn as select id, balance from accounts where balance < 0;
create view owned as select id, balance from accounts where owner = params.owner;
create policy everybody on overdrawn using (true);
create policy everybody on owned using (true);
)";

inline CursorKeys test_keys() { return CursorKeys({CursorKeys::Key{1, std::string(32, 'k')}}); }

inline ActiveModelPtr active_model(std::string_view text = model_text) {
  auto parsed = projection::parse_model(text, projection::Catalog{});
  if (!parsed.model) throw std::logic_error(parsed.problems.at(0).text("model"));
  auto out = std::make_shared<ActiveModel>();
  out->model = parsed.model;
  out->keys = std::make_shared<const CursorKeys>(test_keys());
  return out;
}

inline auth::Principal principal(const std::string& subject = "ann", const std::string& claims = "{}") {
  auth::Principal out;
  out.issuer = "test";
  out.subject = subject;
  out.claims = claims;
  return out;
}

inline Subscribe subscribe_to(const std::string& view, const std::string& params = "{}",
                              const std::string& space = "s") {
  Subscribe out;
  out.id = "1";
  out.space = space;
  out.view = view;
  out.params = params;
  return out;
}

inline GroupSpecPtr spec_of(const ActiveModelPtr& model, const Subscribe& subscribe) {
  return std::get<Bound>(bind_subscription(*model, principal(), subscribe)).spec;
}

/// Positions of a history whose stamps are the sequence times `line`.
inline ledger::Position at(std::int64_t sequence, std::uint64_t line = 7) {
  return ledger::Position{ledger::Sequence{sequence}, ledger::Stamp{static_cast<std::uint64_t>(sequence) * line}};
}

inline std::string account(int id, int balance, const std::string& owner = "ann") {
  return R"({"id": )" + std::to_string(id) + R"(, "owner": ")" + owner + R"(", "balance": )" + std::to_string(balance) +
         "}";
}

/// A commit that sets one account's balance from `before` to `after`.
inline std::shared_ptr<ledger::CommitPart> change(std::int64_t sequence, int id, int before, int after,
                                                  const std::string& space = "s") {
  auto part = std::make_shared<ledger::CommitPart>();
  part->space = space;
  part->position = at(sequence);
  ledger::Change each;
  each.kind = ledger::ChangeKind::updated;
  each.collection = "accounts";
  each.key = "[" + std::to_string(id) + "]";
  each.before = account(id, before);
  each.after = account(id, after);
  part->changes.push_back(each);
  return part;
}

class FakeTail final : public ledger::Tail {
 public:
  void watch(std::string space) override { calls.push_back("watch " + space); }
  void unwatch(const std::string& space) override { calls.push_back("unwatch " + space); }
  std::vector<std::string> calls;
};

class FakeReader final : public ledger::LogReader {
 public:
  struct Read {
    std::string space;
    ledger::Position after;
    std::function<void(ledger::CommitPartPtr)> on_part;
    std::function<void(ledger::Result<ledger::Position>)> done;
  };
  struct Snapshot {
    ledger::SnapshotQuery query;
    std::function<bool(std::string_view)> on_row;
    std::function<void(ledger::Result<ledger::Position>)> done;
  };
  void read(std::string space, ledger::Position after, std::size_t, std::function<void(ledger::CommitPartPtr)> on_part,
            std::function<void(ledger::Result<ledger::Position>)> done) override {
    reads.push_back(Read{std::move(space), after, std::move(on_part), std::move(done)});
  }
  void snapshot(ledger::SnapshotQuery query, std::chrono::milliseconds, std::function<bool(std::string_view)> on_row,
                std::function<void(ledger::Result<ledger::Position>)> done) override {
    snapshots.push_back(Snapshot{std::move(query), std::move(on_row), std::move(done)});
  }
  void receipts(ledger::ReceiptsQuery, std::function<void(ledger::Result<ledger::ReceiptsPage>)> done) override {
    done(ledger::ReceiptsPage{});
  }
  std::deque<Read> reads;
  std::deque<Snapshot> snapshots;
};

inline std::string text_of(ResetReason reason) { return std::string(name(reason)); }

/// Writes down, in order, what a reactor is told.
class FakeReactor final : public ReactorPort {
 public:
  void on_joined(const GroupId& group, ledger::Position head) override {
    told.push_back("joined " + channel_of(group) + " at " + std::to_string(head.sequence.value));
  }
  void on_delivery(std::shared_ptr<const Delivery> delivery) override {
    for (const auto& frame : delivery->frames) {
      told.push_back("frame " + std::to_string(frame->position.sequence.value));
      documents += frame->text;
    }
    for (const auto& client : delivery->lost) told.push_back("lost " + client);
    for (const auto& [space, head] : delivery->heads) {
      told.push_back("head " + space + " " + std::to_string(head.sequence.value));
    }
  }
  void on_erased(const std::string& space, ledger::Sequence through) override {
    told.push_back("erased " + space + " " + std::to_string(through.value));
  }
  void on_reset(const GroupId&, ResetReason reason) override { told.push_back("reset " + text_of(reason)); }
  void on_notice(NoticeKind kind) override { told.push_back("notice " + std::string(name(kind))); }
  void on_model(ActiveModelPtr) override { told.push_back("model"); }
  void on_revoked() override { told.push_back("revoked"); }
  void on_keys() override { told.push_back("keys"); }

  std::vector<std::string> take() { return std::exchange(told, {}); }
  std::vector<std::string> told;
  std::string documents;
};

/// The thread of bootstraps as an engine knows it, without a thread: jobs wait until they are run. Its end lets go of those that
/// still wait, which may bring further ones; what comes then is not run, as with the real one.
class Asides {
 public:
  using Aside = std::function<void(std::function<void()> job, std::function<void()> done)>;

  /// For EngineSurroundings::aside; may outlive this.
  [[nodiscard]] Aside aside() const {
    return [weak = std::weak_ptr<Jobs>(jobs_)](std::function<void()> job, std::function<void()> done) {
      if (const auto jobs = weak.lock()) jobs->emplace_back(std::move(job), std::move(done));
    };
  }
  [[nodiscard]] bool empty() const { return jobs_->empty(); }
  void run_one() {
    const auto [job, done] = std::move(jobs_->front());
    jobs_->pop_front();
    job();
    if (done) done();
  }

 private:
  using Jobs = std::deque<std::pair<std::function<void()>, std::function<void()>>>;
  const std::shared_ptr<Jobs> jobs_ = std::make_shared<Jobs>();
};

class World {
 public:
  explicit World(EngineLimits limits = {}, std::size_t reactor_count = 2)
      : reactors(reactor_count), engine(limits, surroundings(), reader, reader, [this] { ++registry_moves; }) {
    engine.attach(tail);
  }

  /// Runs everything that was posted, and all work of the thread of bootstraps.
  void run() {
    while (!posts.empty() || !asides.empty()) {
      run_asides();
      if (posts.empty()) continue;
      auto [reactor, call] = std::move(posts.front());
      posts.pop_front();
      call(reactors[reactor]);
    }
  }
  void run_asides() {
    while (!asides.empty()) asides.run_one();
  }
  /// Runs what was posted to this reactor; the others stand still.
  void run_only(std::size_t reactor) {
    for (auto& [to, call] : std::exchange(posts, {})) {
      if (to == reactor) {
        call(reactors[to]);
      } else {
        posts.emplace_back(to, std::move(call));
      }
    }
  }
  void commit(const ledger::CommitPartPtr& part) {
    engine.on_part(part);
    engine.on_turn();
    run();
  }
  /// Joined and followed from `head` on.
  void follow(std::size_t reactor, const GroupSpecPtr& spec, std::int64_t head) {
    engine.join(reactor, spec);
    engine.on_watched(spec->space, at(head));
    run();
  }
  std::shared_ptr<HistoryReply> ask_history(const GroupSpecPtr& spec, ledger::Position after, std::size_t reactor = 0) {
    auto out = std::make_shared<HistoryReply>(Refusal{ErrorCode::bad_request});
    engine.history(reactor, spec->id, after, [out](HistoryReply reply) { *out = std::move(reply); });
    run();
    return out;
  }
  std::shared_ptr<BootstrapReply> ask_bootstrap(const GroupSpecPtr& spec, std::size_t reactor = 0,
                                                const std::string& principal = "") {
    auto out = std::make_shared<BootstrapReply>(Refusal{ErrorCode::bad_request});
    engine.bootstrap(reactor, spec->id, principal, [out](BootstrapReply reply) { *out = std::move(reply); });
    run();
    return out;
  }

  TimePoint now{};
  int registry_moves = 0;
  std::deque<std::pair<std::size_t, std::function<void(ReactorPort&)>>> posts;
  Asides asides;
  std::vector<FakeReactor> reactors;
  FakeTail tail;
  FakeReader reader;
  Engine engine;

 private:
  EngineSurroundings surroundings() {
    EngineSurroundings out;
    out.reactors = reactors.size();
    out.post = [this](std::size_t reactor, std::function<void(ReactorPort&)> call) {
      posts.emplace_back(reactor, std::move(call));
    };
    out.aside = asides.aside();
    out.now = [this] { return now; };
    return out;
  }
};

}  // namespace viewgate::gateway::testing
