#include "gateway/admin_explain.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "gateway/log.hpp"
#include "projection/json_text.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

constexpr std::string_view json = "application/json";

std::string refused(int status, std::string_view error, std::string_view message, std::string_view fields = {}) {
  return http_text(
      status, json,
      "{\"error\":\"" + std::string(error) + "\",\"message\":" + projection::encode_json_string(message) + "}\n",
      fields);
}

std::string response_of(const ExplainResult& result) {
  if (const auto* answer = std::get_if<ExplainAnswer>(&result))
    return http_text(200, json, explain_json(*answer) + "\n");
  const auto& refusal = std::get<ExplainRefusal>(result);
  if (refusal.code == "unavailable") return refused(503, refusal.code, refusal.text, "Retry-After: 1\r\n");
  return refused(refusal.code.starts_with("unknown_") ? 404 : 400, refusal.code, refusal.text);
}

}  // namespace

std::variant<ExplainQuestion, std::string> parse_explain(std::string_view target) {
  const auto mark = target.find('?');
  const auto query = parse_query(mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1));
  if (!query) return "the query is not name=value&…, percent-encoded, each name once";
  ExplainQuestion out;
  for (const auto& [name, value] : *query) {
    if (name == "before") {
      std::int64_t sequence = 0;
      const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), sequence);
      if (problem != std::errc{} || end != value.data() + value.size() || sequence < 1)
        return "before must be a sequence: a whole number from 1 on";
      out.before = ledger::Sequence{sequence};
      continue;
    }
    std::string* const place = name == "space"    ? &out.space
                               : name == "view"   ? &out.view
                               : name == "params" ? &out.parameters
                               : name == "claims" ? &out.claims
                               : name == "record" ? &out.record
                                                  : nullptr;
    if (place == nullptr)
      return shown_name(name) + ": is not known here; space, view, params, claims, record and before are";
    *place = value;
  }
  if (out.space.empty() || out.view.empty() || out.record.empty()) return "space, view and record must be there";
  return out;
}

AdminExplain::AdminExplain(const std::string& conninfo, std::chrono::milliseconds time_max)
    : work_(asio::make_work_guard(io_)), desk_(io_, conninfo, time_max), thread_([this] { io_.run(); }) {}

AdminExplain::~AdminExplain() {
  io_.stop();
  thread_.join();
}

void AdminExplain::set_model(ActiveModelPtr model) {
  asio::post(io_, [this, model = std::move(model)]() mutable { model_ = std::move(model); });
}

void AdminExplain::add_to(AdminDoor& door) {
  door.add("GET", "/v1/explain", [this](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    auto parsed = parse_explain(request.head.target);
    if (const auto* wrong = std::get_if<std::string>(&parsed)) {
      return answer_with(*reply, refused(400, "bad_request", *wrong));
    }
    asio::post(io_, [this, question = std::get<ExplainQuestion>(std::move(parsed)), reply]() mutable {
      answer(std::move(question), reply);
    });
  });
}

void AdminExplain::answer(ExplainQuestion question, const std::shared_ptr<HttpReply>& reply) {
  if (waiting_ == waiting_max) {
    return answer_with(*reply, refused(503, "unavailable", "too many questions at a time", "Retry-After: 1\r\n"));
  }
  log::info("explained", {reply->correlation().connection_field(), {"space", question.space}, {"view", question.view}});
  ++waiting_;
  desk_.ask(model_, std::move(question), [this, reply](const ExplainResult& result) {
    --waiting_;
    answer_with(*reply, response_of(result));
  });
}

}  // namespace viewgate::gateway
