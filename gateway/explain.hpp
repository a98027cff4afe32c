// Answers of an operator's question: is this record in that view for such a caller, why, and when did it come in and go out.
// The state is that of a snapshot exactly at a sequence; the history is read from the log up to that sequence.
//
// Lives on the io_context's thread, on database connections of its own; takes at most so many questions at a time.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateway/active_model.hpp"
#include "ledger/commit.hpp"
#include "ledger/record_history.hpp"
#include "projection/record_story.hpp"

namespace viewgate::gateway {

struct ExplainQuestion {
  static constexpr std::size_t events_max = 500;  ///< of an answer; older ones are counted
  /// Of their JSON. With what else an answer holds, which the sizes of a model and of a question bound, it stays far below what
  /// the operators' port keeps for one reader.
  static constexpr std::size_t events_bytes_max = std::size_t{4} << 20;

  std::string space;
  std::string view;
  std::string parameters = "{}";           ///< JSON object
  std::string claims = "{}";               ///< JSON object: of the caller who is asked about
  std::string record;                      ///< JSON array: the key as it stands in events
  std::optional<ledger::Sequence> before;  ///< only events of earlier commits; nothing: the latest ones
};

struct ExplainAnswer {
  ExplainQuestion question;
  ledger::ModelOfLedger model;  ///< what judged: of the past, too, whatever was in force then
  std::string version;          ///< of the view
  std::string collection;       ///< of its table
  std::string key;
  ledger::Sequence sequence;  ///< what `exists` and `inside` are true at
  bool exists = false;        ///< in this space
  bool inside = false;
  std::vector<projection::Verdict> verdicts;  ///< where it exists
  bool admitted = false;
  std::vector<projection::Verdict> admission;
  ledger::Sequence retained_from{1};  ///< the log reaches back to here
  std::optional<bool> began_inside;   ///< before that; nothing: not known, what it was is erased
  std::size_t left_out = 0;           ///< events older than those below: `before` the first of those shows them
  std::deque<projection::StoryEvent> events;
};

/// The commit is older than the model that judged it: another one was in force.
[[nodiscard]] bool is_judged_later(const projection::StoryEvent& event, const ledger::ModelOfLedger& model);

/// `code`: unknown_space, unknown_view, invalid_params, invalid_claims, invalid_record, unknown_record, unavailable. `text`
/// says what would be right.
struct ExplainRefusal {
  std::string_view code;
  std::string text;
};

using ExplainResult = std::variant<ExplainAnswer, ExplainRefusal>;

class ExplainDesk {
 public:
  static constexpr std::size_t concurrent = 2;

  /// `time_max`: of each step in the database.
  ExplainDesk(boost::asio::io_context& io, const std::string& conninfo, std::chrono::milliseconds time_max);
  ~ExplainDesk();
  ExplainDesk(const ExplainDesk&) = delete;
  ExplainDesk& operator=(const ExplainDesk&) = delete;

  /// On the loop's thread; `done` is called there, and not inside this call.
  void ask(ActiveModelPtr model, ExplainQuestion question, std::function<void(ExplainResult)> done);

 private:
  class Work;
  std::shared_ptr<Work> work_;
};

/// One event of the history, as it stands in the document.
[[nodiscard]] std::string explain_event_json(const projection::StoryEvent& event, const ledger::ModelOfLedger& model);
/// The answer as one JSON document, and as lines for a terminal.
[[nodiscard]] std::string explain_json(const ExplainAnswer& answer);
[[nodiscard]] std::string explain_text(const ExplainAnswer& answer);

}  // namespace viewgate::gateway
