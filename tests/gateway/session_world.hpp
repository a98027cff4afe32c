// Sessions with everything around them in the test's hand: the engine is a list of questions that the test answers, the
// socket is two strings, the clock stands until it is moved.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/token_minter.hpp"
#include "gateway/engine_world.hpp"
#include "gateway/fanout.hpp"
#include "gateway/session.hpp"

namespace viewgate::gateway::testing {

inline const std::string token_secret(32, 's');

inline auth::TokenVerifier token_verifier() {
  return auth::TokenVerifier({"test", "viewgate", std::chrono::seconds{0}},
                             auth::KeySet({{"", auth::Algorithm::hs256, token_secret}}));
}

inline std::string token_for(const std::string& subject, std::chrono::sys_seconds now,
                             std::chrono::seconds life = std::chrono::hours{1}, std::string_view more = "{}") {
  const auth::TokenMinter minter({"", auth::Algorithm::hs256, token_secret});
  return minter.mint(auth::claims_json({"test", "viewgate", subject, now, now + life}, more));
}

/// The engine as a reactor sees it: what was asked, in order, for the test to answer.
class AskedEngine final : public EnginePort {
 public:
  struct History {
    GroupId group;
    ledger::Position after;
    std::function<void(HistoryReply)> reply;
  };
  struct Bootstrap {
    GroupId group;
    std::function<void(BootstrapReply)> reply;
  };
  void join(std::size_t, GroupSpecPtr group) override { joins.push_back(group); }
  void leave(std::size_t, GroupId group) override { leaves.push_back(group); }
  void history(std::size_t, GroupId group, ledger::Position after, std::function<void(HistoryReply)> reply) override {
    histories.push_back({group, after, std::move(reply)});
  }
  void bootstrap(std::size_t, GroupId group, std::string, std::function<void(BootstrapReply)> reply) override {
    bootstraps.push_back({group, std::move(reply)});
  }

  void spilled(std::size_t, SpilledTextsPtr texts, std::size_t index,
               std::function<void(std::optional<std::string>)> reply) override {
    spills.push_back({std::move(texts), index, std::move(reply)});
  }
  void mutate(std::size_t, MutationCall call, std::function<void(MutationReply)> reply) override {
    mutations.push_back({std::move(call), std::move(reply)});
  }
  void receipts(std::size_t, ledger::ReceiptsQuery call, std::function<void(ReceiptsReply)> reply) override {
    receipt_questions.push_back({std::move(call), std::move(reply)});
  }

  struct AskedMutation {
    MutationCall call;
    std::function<void(MutationReply)> reply;
  };
  struct AskedReceipts {
    ledger::ReceiptsQuery call;
    std::function<void(ReceiptsReply)> reply;
  };
  struct AskedSpill {
    SpilledTextsPtr texts;
    std::size_t index;
    std::function<void(std::optional<std::string>)> reply;
  };
  std::deque<AskedSpill> spills;
  std::deque<AskedMutation> mutations;
  std::deque<AskedReceipts> receipt_questions;
  std::deque<GroupSpecPtr> joins;
  std::deque<GroupId> leaves;
  std::deque<History> histories;
  std::deque<Bootstrap> bootstraps;
};

/// One client: a session and what it wrote. It takes everything at once unless told to stall.
class Client final : public Transport {
 public:
  Client(Fanout& fanout, Now& now) : now_(now) { session.emplace(fanout, *this, now); }

  void flush(Now now) override {
    if (stalled) return;
    for (auto pieces = session->produce(now); !pieces.empty(); pieces = session->produce(now)) {
      std::string bytes;
      for (const auto piece : pieces) bytes += piece;
      receive(std::move(bytes));
    }
  }

  void on_welcome() override {}
  [[nodiscard]] const Correlation& correlation() const override { return correlation_; }

  void say(std::string_view text) { send(WsOpcode::text, text); }
  void send(WsOpcode opcode, std::string_view payload) {
    std::string frame;
    append_ws_masked(frame, opcode, payload, 0x12345678);
    session->on_bytes(frame, now_);
  }
  template <class Message>
  void say_message(const Message& message) {
    std::string text;
    append_document(text, message);
    say(text);
  }

  /// What came since the last call, a line each: "type" and, of what matters in most tests, some members.
  std::vector<std::string> take() { return std::exchange(documents, {}); }

  bool stalled = false;
  std::vector<std::string> documents;
  std::vector<std::size_t> message_bytes;
  std::uint16_t close_code = 0;
  std::string pong;
  std::optional<Session> session;

 private:
  void receive(std::string bytes) {
    std::span<char> rest(bytes);
    while (const auto event = reader_.next(rest)) {
      if (event->kind == WsEvent::Kind::close) close_code = event->code;
      if (event->kind == WsEvent::Kind::pong) pong = event->text;
      if (event->kind == WsEvent::Kind::failure) documents.push_back("broken frame: " + std::string(event->text));
      if (event->kind != WsEvent::Kind::message) continue;
      message_bytes.push_back(event->text.size());
      for (const auto document : split_documents(event->text)) documents.emplace_back(document);
    }
  }

  Now& now_;
  const Correlation correlation_{"0123456789abcdef", {}};
  WsReader reader_{WsRole::client, {64 * 1024 * 1024, 64}};
};

class SessionWorld {
 public:
  explicit SessionWorld(SessionOptions options = {}, std::string_view model = model_text)
      : fanout(0, options, engine, verifier, active_model(model), [] {}) {}

  void run() {
    for (int i = 0; i < 10; ++i) fanout.flush_due(now);
  }
  void pass(std::chrono::milliseconds time) {
    now.steady += time;
    now.wall += time;
    fanout.on_tick(now);
    for (Client* each : clients_) each->session->on_tick(now);
    run();
  }

  std::unique_ptr<Client> connect() {
    auto out = std::make_unique<Client>(fanout, now);
    clients_.push_back(out.get());
    return out;
  }
  /// Connected and welcomed.
  std::unique_ptr<Client> open(const std::string& subject = "ann", std::string_view claims = "{}") {
    auto out = connect();
    out->say_message(Hello{1, token(subject, claims)});
    run();
    out->documents.clear();
    return out;
  }
  std::string token(const std::string& subject, std::string_view claims = "{}") const {
    return token_for(subject, std::chrono::floor<std::chrono::seconds>(now.wall), std::chrono::hours{1}, claims);
  }
  /// It does not get ticks any more, and may be destroyed.
  void forget(const Client& client) { std::erase(clients_, &client); }

  // The engine's answers.
  void joined(std::int64_t head) {
    const auto spec = engine.joins.front();
    engine.joins.pop_front();
    fanout.on_joined(spec->id, at(head));
    run();
  }
  void snapshot(std::int64_t sequence, std::vector<std::string> chunks = {"{\"type\":\"snapshot\"}\n"}) {
    auto out = std::make_shared<SnapshotChunks>();
    out->at = at(sequence);
    out->position_token = "p" + std::to_string(sequence);
    for (auto& each : chunks) out->chunks.push_back(std::make_shared<const std::string>(std::move(each)));
    auto asked = std::move(engine.bootstraps.front());
    engine.bootstraps.pop_front();
    asked.reply(BootstrapReply(std::shared_ptr<const SnapshotChunks>(std::move(out))));
    run();
  }
  void history(std::int64_t through, std::string text) {
    auto out = std::make_shared<History>();
    out->text = std::move(text);
    out->through = at(through);
    out->position_token = "p" + std::to_string(through);
    out->is_told = out->text.find(out->position_token) != std::string::npos;
    auto asked = std::move(engine.histories.front());
    engine.histories.pop_front();
    asked.reply(HistoryReply(std::shared_ptr<const History>(std::move(out))));
    run();
  }
  void refuse_history(Refusal refusal) {
    auto asked = std::move(engine.histories.front());
    engine.histories.pop_front();
    asked.reply(refusal);
    run();
  }

  /// A short document in place of a commit's.
  static std::string document(std::int64_t sequence) {
    const auto number = std::to_string(sequence);
    return R"({"type":"c)" + number + R"(","position":"p)" + number + "\"}";
  }
  static std::string line(std::int64_t sequence) { return document(sequence) + "\n"; }

  GroupFramePtr frame(const GroupSpecPtr& spec, std::int64_t sequence, std::size_t bytes = 0) const {
    auto out = std::make_shared<GroupFrame>();
    out->group = spec->id;
    out->position = at(sequence);
    out->text = line(sequence);
    if (bytes > out->text.size()) out->text.insert(1, std::string(bytes - out->text.size(), ' '));
    return out;
  }
  void deliver(std::vector<GroupFramePtr> frames, std::int64_t head, const std::string& space = "s") {
    auto out = std::make_shared<Delivery>();
    out->frames = std::move(frames);
    out->heads.emplace_back(space, at(head));
    fanout.on_delivery(out);
    run();
  }
  GroupSpecPtr spec(const Subscribe& subscribe) const {
    return spec_of(std::shared_ptr<const ActiveModel>(&fanout.model(), [](const auto*) {}), subscribe);
  }

  Now now{std::chrono::steady_clock::time_point{} + std::chrono::hours{100},
          std::chrono::system_clock::time_point{} + std::chrono::hours{500'000}};
  AskedEngine engine;
  auth::TokenVerifier verifier = token_verifier();
  Fanout fanout;

 private:
  std::vector<Client*> clients_;
};

inline Subscribe subscribe(const std::string& id, const std::string& view = "overdrawn",
                           const std::string& params = "{}", const std::string& space = "s") {
  Subscribe out = subscribe_to(view, params, space);
  out.id = id;
  return out;
}

inline std::string member(std::string_view document, std::string_view name) {
  const auto view = view_document(document);
  if (!view) return "not a document: " + std::string(document);
  const auto plain = view->plain(name);
  return std::string(plain.empty() ? view->raw(name) : plain);
}

inline std::vector<std::string> types(const std::vector<std::string>& documents) {
  std::vector<std::string> out;
  for (const auto& each : documents) out.push_back(member(each, "type"));
  return out;
}

/// A client with one live subscription "a" on `overdrawn`, its set at `sequence`.
inline std::unique_ptr<Client> live(SessionWorld& world, std::int64_t sequence) {
  auto client = world.open();
  client->say_message(subscribe("a"));
  world.run();
  if (!world.engine.joins.empty()) world.joined(sequence);
  world.snapshot(sequence);
  EXPECT_EQ(types(client->take()), (std::vector<std::string>{"subscribed", "snapshot", "ready"}));
  return client;
}

inline std::string cursor_of(SessionWorld& world, const Subscribe& request, ledger::Position position) {
  const auto bound = std::get<Bound>(bind_subscription(world.fanout.model(), principal(), request));
  return join_cursor(bound.context_token, bound.spec->sealer.seal(position));
}

inline Subscribe returning(SessionWorld& world, std::int64_t sequence, const std::string& id = "a") {
  Subscribe out = subscribe(id);
  out.cursor = cursor_of(world, out, at(sequence));
  return out;
}

}  // namespace viewgate::gateway::testing
