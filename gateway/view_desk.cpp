#include "gateway/view_desk.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cassert>
#include <utility>

#include "gateway/errors.hpp"
#include "gateway/http_errors.hpp"
#include "gateway/json_text.hpp"
#include "gateway/log_sparingly.hpp"
#include "gateway/mutation_door.hpp"
#include "gateway/sending_time.hpp"
#include "gateway/tally.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds watch_interval{200};
constexpr std::string_view json = "application/json";
constexpr JsonBounds parameter_bounds{28, 10'000, 0};

bool is_json_in_query(const projection::FullType& type) {
  return type.array || type.type == projection::Type::boolean || type.type == projection::Type::jsonb ||
         projection::is_number(type.type);
}

Error unavailable(std::chrono::milliseconds retry_after) {
  Error out;
  out.code = ErrorCode::unavailable;
  out.message = constant_text(out.code);
  out.retry_after = retry_after;
  return out;
}

}  // namespace

std::string parameters_of(const ActiveModel& model, const std::string& view, const QueryItems& query) {
  const auto known = model.model ? model.model->view(view) : nullptr;
  std::string out = "{";
  for (const auto& [name, value] : query) {
    if (out.size() > 1) out += ',';
    append_json_string(out, name);
    out += ':';
    const bool is_json = known && std::ranges::any_of(known->parameters, [&name = name](const auto& each) {
                           return each.name == name && is_json_in_query(each.type);
                         });
    if (is_json && !json_fault(value, parameter_bounds)) {
      out += value;
    } else {
      append_json_string(out, value);
    }
  }
  return out + '}';
}

std::string view_head(const ViewQuestion& question, ledger::Sequence sequence, std::string_view cursor) {
  std::string out = "{\"type\":\"view\",\"space\":";
  append_json_string(out, question.space);
  out += ",\"view\":";
  append_json_string(out, question.view);
  out.append(",\"sequence\":\"").append(std::to_string(sequence.value)).append("\",\"cursor\":");
  append_json_string(out, cursor);
  return out + ",\"records\":[";
}

std::string_view records_in(std::string_view document) {
  constexpr std::string_view before = ",\"records\":[";
  // The members before it hold no such text: a type and a channel, which is hexadecimal.
  const auto begin = document.find(before) + before.size();
  const auto end = document.rfind(']');
  assert(begin <= end && end < document.size());
  return document.substr(begin, end - begin);
}

/// All of it is of the loop's thread.
class ViewDesk::Answers : public std::enable_shared_from_this<Answers> {
 public:
  Answers(asio::io_context& loop, Ask ask, const auth::TokenVerifier& verifier, ViewDeskOptions options)
      : loop_(loop), watch_(loop), ask_(std::move(ask)), verifier_(verifier), options_(options) {}

  void take(ViewQuestion question, Bound bound, std::shared_ptr<HttpReply> reply) {
    asio::post(loop_, [self = shared_from_this(), question = std::move(question), bound = std::move(bound),
                       reply = std::move(reply)]() mutable {
      self->begin(std::move(question), std::move(bound), std::move(reply));
    });
  }

  void take(ViewDeskOptions options) {
    asio::post(loop_, [self = shared_from_this(), options] { self->options_ = options; });
  }

  [[nodiscard]] std::uint64_t over_limit() const { return over_limit_.value(); }

  void on_erased(const std::string& space, ledger::Sequence through) {
    asio::post(loop_, [self = shared_from_this(), space, through] {
      self->cut_where([&](const Answer& each) -> std::string_view {
        const bool holds_some = each.question.space == space && each.snapshot && each.snapshot->at.sequence < through;
        return holds_some ? "values_erased" : "";
      });
    });
  }

 private:
  struct Answer {
    ViewQuestion question;
    Bound bound;
    std::shared_ptr<HttpReply> reply;
    std::shared_ptr<const SnapshotChunks> snapshot;  ///< null: it is being read
    std::size_t next = 0;                            ///< of its documents
    bool has_records = false;                        ///< so that the next one stands behind a comma
    bool has_ended = false;                          ///< everything was handed to the socket
    std::size_t unwritten = 0;
    std::optional<Clock::time_point> cut_at;
  };
  using AnswerPtr = std::shared_ptr<Answer>;

  void begin(ViewQuestion question, Bound bound, std::shared_ptr<HttpReply> reply) {
    if (answers_.size() >= options_.answers_max) {
      over_limit_.add();
      return say(*reply, unavailable(options_.retry_after));
    }
    const auto answer = std::make_shared<Answer>();
    answer->question = std::move(question);
    answer->bound = std::move(bound);
    answer->reply = std::move(reply);
    answers_.push_back(answer);
    if (answers_.size() == 1) watch();
    ask_(answer->bound.spec, turn_of(answer->question.principal),
         [weak = weak_from_this(), answer](BootstrapReply told) {
           const auto self = weak.lock();
           if (!self) return;
           asio::post(self->loop_, [self, answer, told = std::move(told)] { self->on_snapshot(answer, told); });
         });
  }

  void on_snapshot(const AnswerPtr& answer, const BootstrapReply& told) {
    if (!answer->reply) return;
    if (const auto* refusal = std::get_if<Refusal>(&told)) {
      Error error = unavailable(options_.retry_after);
      // What was void is read anew by whoever asks again.
      if (const auto* code = std::get_if<ErrorCode>(&refusal->why)) error.code = *code;
      error.message = constant_text(error.code);
      say(*answer->reply, error);
      return end(answer);
    }
    answer->snapshot = std::get<std::shared_ptr<const SnapshotChunks>>(told);
    answer->cut_at = Clock::now() + sending_time(answer->snapshot->bytes(), options_.bytes_per_second_min,
                                                 options_.send_time, options_.no_progress);
    const auto cursor = answer->bound.context_token + '.' + answer->snapshot->position_token;
    send(answer,
         http_chunked_head(json) + http_chunk(view_head(answer->question, answer->snapshot->at.sequence, cursor)));
    write_on(answer);
  }

  /// Until as much waits for the socket as may.
  void write_on(const AnswerPtr& answer) {
    const auto& snapshot = *answer->snapshot;
    const std::size_t in_memory = snapshot.chunks.size();
    const std::size_t count = in_memory + (snapshot.spilled ? snapshot.spilled->count() : 0);
    while (answer->next < count && answer->unwritten < options_.unwritten_bytes_max) {
      const std::size_t index = answer->next++;
      if (index < in_memory) {
        send_records(answer, *snapshot.chunks[index]);
        continue;
      }
      const auto text = snapshot.spilled->text(index - in_memory);
      if (!text) return cut(answer, "bootstrap_not_readable");
      send_records(answer, *text);
    }
    if (answer->next < count || std::exchange(answer->has_ended, true)) return;
    send(answer, http_chunk(view_end) + std::string(http_last_chunk));
  }

  void send_records(const AnswerPtr& answer, std::string_view document) {
    std::string chunk = std::exchange(answer->has_records, true) ? "," : "";
    chunk += records_in(document);
    send(answer, http_chunk(chunk));
  }

  void send(const AnswerPtr& answer, std::string bytes) {
    const std::size_t size = bytes.size();
    answer->unwritten += size;
    answer->reply->write(std::move(bytes), [weak = weak_from_this(), answer, size](bool alive) {
      const auto self = weak.lock();
      if (!self) return;
      asio::post(self->loop_, [self, answer, size, alive] { self->on_written(answer, size, alive); });
    });
  }

  void on_written(const AnswerPtr& answer, std::size_t bytes, bool alive) {
    if (!answer->reply) return;
    if (!alive) return end(answer);
    answer->unwritten -= bytes;
    // Complete when its last byte has left: until then it can be cut off.
    if (answer->has_ended && answer->unwritten == 0) {
      answer->reply->finish();
      return end(answer);
    }
    write_on(answer);
  }

  /// While there are answers: whether their readers still may read, and how long they have taken.
  void watch() {
    watch_.expires_after(watch_interval);
    watch_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
      const auto self = weak.lock();
      if (!self || stopped) return;
      const auto now = Clock::now();
      const auto wall = std::chrono::system_clock::now();
      self->cut_where([&](const Answer& each) -> std::string_view {
        if (self->verifier_.is_revoked(each.question.principal, wall)) return "revoked";
        if (wall >= each.question.principal.expires_at) return "auth_expired";
        return each.cut_at && now >= *each.cut_at ? "too_slow" : "";
      });
      if (!self->answers_.empty()) self->watch();
    });
  }

  /// `why` gives an empty text for those that go on.
  void cut_where(const std::function<std::string_view(const Answer&)>& why) {
    const auto all = answers_;
    for (const auto& each : all) {
      if (const auto reason = why(*each); !reason.empty()) cut(each, reason);
    }
  }

  /// Told from a complete one by its missing last chunk.
  void cut(const AnswerPtr& answer, std::string_view reason) {
    const auto& who = answer->reply->correlation();
    log::warn("view_cut_off", {who.connection_field(),
                               who.trace_field(),
                               {"space", answer->question.space},
                               {"view", answer->question.view},
                               {"subject", answer->question.principal.subject},
                               {"reason", reason}});
    answer->reply->abort();
    end(answer);
  }

  /// What still comes for it is not looked at; callbacks may hold it for a while, the snapshot not.
  void end(const AnswerPtr& answer) {
    answer->reply.reset();
    answer->snapshot.reset();
    std::erase(answers_, answer);
  }

  asio::io_context& loop_;
  asio::steady_timer watch_;
  const Ask ask_;
  const auth::TokenVerifier& verifier_;
  ViewDeskOptions options_;
  std::vector<AnswerPtr> answers_;
  Count over_limit_;  // any thread may read it
};

ViewDesk::ViewDesk(asio::io_context& loop, Ask ask, const auth::TokenVerifier& verifier, ViewDeskOptions options)
    : answers_(std::make_shared<Answers>(loop, std::move(ask), verifier, options)) {}
ViewDesk::~ViewDesk() = default;

void ViewDesk::set_model(ActiveModelPtr model) {
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
}

ActiveModelPtr ViewDesk::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

void ViewDesk::answer(ViewQuestion question, std::shared_ptr<HttpReply> reply) {
  if (question.space.size() > limits::space_bytes) {
    return say(*reply, bad_request("space: must be at most " + std::to_string(limits::space_bytes) + " bytes"));
  }
  const auto model = this->model();
  Subscribe subscribe;
  subscribe.space = question.space;
  subscribe.view = question.view;
  subscribe.params = parameters_of(*model, question.view, question.parameters);
  auto bound = bind_subscription(*model, question.principal, subscribe);
  if (const auto* refusal = std::get_if<SubscribeRefusal>(&bound)) {
    const auto& who = reply->correlation();
    log::write_sparingly(log::Level::info, "view_refused",
                         {who.connection_field(),
                          who.trace_field(),
                          {"subject", question.principal.subject},
                          {"cause", refusal->cause}});
    Error error;
    error.code = refusal->code;
    error.message = refusal->text;
    error.retry_after = refusal->retry_after;
    error.connection = who.id;
    return say(*reply, error);
  }
  answers_->take(std::move(question), std::get<Bound>(std::move(bound)), std::move(reply));
}

void ViewDesk::take(ViewDeskOptions options) { answers_->take(options); }

std::uint64_t ViewDesk::over_limit() const { return answers_->over_limit(); }

void ViewDesk::on_erased(const std::string& space, ledger::Sequence through) { answers_->on_erased(space, through); }

}  // namespace viewgate::gateway
