// GET /v1/explain on the operators' port: why a record is in a view or not, what `viewgate explain` prints, as JSON.
//
//   /v1/explain?space=s&view=board&params={…}&claims={…}&record=[7]&before=4711
//
// On a thread of its own: the history of a record may be long, and no commit waits for it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "gateway/admin_door.hpp"
#include "gateway/explain.hpp"

namespace viewgate::gateway {

/// From the request's target: the question, or what is wrong with it.
[[nodiscard]] std::variant<ExplainQuestion, std::string> parse_explain(std::string_view target);

class AdminExplain {
 public:
  static constexpr std::size_t waiting_max = 16;  ///< questions at a time; one more is told to come back

  AdminExplain(const std::string& conninfo, std::chrono::milliseconds time_max);
  /// Stops; what was not answered is not any more.
  ~AdminExplain();
  AdminExplain(const AdminExplain&) = delete;
  AdminExplain& operator=(const AdminExplain&) = delete;

  /// Thread-safe. Before the first question.
  void set_model(ActiveModelPtr model);

  /// Before the door starts; the door is stopped before this ends.
  void add_to(AdminDoor& door);

 private:
  void answer(ExplainQuestion question, const std::shared_ptr<HttpReply>& reply);

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  ExplainDesk desk_;
  ActiveModelPtr model_;
  std::size_t waiting_ = 0;
  std::thread thread_;
};

}  // namespace viewgate::gateway
