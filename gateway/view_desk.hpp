// Answers GET /v1/spaces/{space}/views/{view}?{parameter}=…: a view's records as of one sequence, and a cursor that a socket
// goes on from. For what renders pages on a server and for scripts; whoever wants to stay uses the socket.
//
// The snapshot is the one that sockets start from: the same policies decide, the same read serves everybody who asks
// meanwhile, and the same bounds refuse. It goes out in chunks at its reader's pace; what waits for the socket is bounded, and a
// reader that is too slow for others to have room is cut off.
//
// Questions come on any thread; the rest happens on the thread of bootstraps, which may read their files.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "auth/token_verifier.hpp"
#include "gateway/active_model.hpp"
#include "gateway/http_api.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::gateway {

struct ViewQuestion {
  std::string space;
  std::string view;
  QueryItems parameters;
  auth::Principal principal;
};

/// The JSON object that a subscription would have as `params`. What is a number, a boolean, a jsonb or an array for the view
/// is JSON in the query, too; everything else is taken as it is. A value that is no JSON becomes a string, which binding
/// then refuses by its parameter's name.
[[nodiscard]] std::string parameters_of(const ActiveModel& model, const std::string& view, const QueryItems& query);

/// What stands before the records and behind them.
[[nodiscard]] std::string view_head(const ViewQuestion& question, ledger::Sequence sequence, std::string_view cursor);
inline constexpr std::string_view view_end = "]}\n";
/// The records of a snapshot document without the brackets; a view into it.
[[nodiscard]] std::string_view records_in(std::string_view document);

struct ViewDeskOptions {
  std::size_t answers_max = 64;                               ///< at a time; one more is told to come back
  std::size_t unwritten_bytes_max = std::size_t{256} * 1024;  ///< of one answer, but for a document
  std::size_t bytes_per_second_min = std::size_t{16} * 1024;  ///< who reads more slowly is cut off
  std::chrono::milliseconds send_time{3'600'000};             ///< the longest, whatever that rate allows
  std::chrono::milliseconds no_progress{20'000};              ///< beyond that
  std::chrono::milliseconds retry_after{1'000};
};

class ViewDesk {
 public:
  /// The engine's bootstrap_once; the reply may come on any thread.
  using Ask = std::function<void(GroupSpecPtr, std::string principal, std::function<void(BootstrapReply)>)>;

  /// `loop`, `verifier` and what `ask` asks outlive the desk.
  ViewDesk(boost::asio::io_context& loop, Ask ask, const auth::TokenVerifier& verifier, ViewDeskOptions options);
  ~ViewDesk();
  ViewDesk(const ViewDesk&) = delete;
  ViewDesk& operator=(const ViewDesk&) = delete;

  // Thread-safe from here on.

  /// Before the first question.
  void set_model(ActiveModelPtr model);

  /// From the next answer on.
  void take(ViewDeskOptions options);

  /// An answer that is being sent is cut off when its token is revoked or expires.
  void answer(ViewQuestion question, std::shared_ptr<HttpReply> reply);

  /// Questions that were one more than limit.view_answers.
  [[nodiscard]] std::uint64_t over_limit() const;

  /// Values of commits up to `through` were erased: answers that may hold them are cut off.
  void on_erased(const std::string& space, ledger::Sequence through);

 private:
  class Answers;
  [[nodiscard]] ActiveModelPtr model() const;

  const std::shared_ptr<Answers> answers_;
  mutable std::mutex mutex_;
  ActiveModelPtr model_;
};

}  // namespace viewgate::gateway
