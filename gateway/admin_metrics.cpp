#include "gateway/admin_metrics.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "gateway/version.hpp"

namespace viewgate::gateway {

namespace asio = boost::asio;

void add_metrics(AdminDoor& door, asio::io_context& io, std::function<EngineReading()> read_engine,
                 const std::vector<std::unique_ptr<Reactor>>& reactors) {
  door.add(
      "GET", "/metrics",
      [&io, &reactors, read_engine = std::move(read_engine)](const HttpRequest&, std::shared_ptr<HttpReply> reply) {
        // Here, on the operators' thread: the kernel lists each descriptor, and the engine has commits to follow.
        const ProcessReading process = read_process();
        asio::post(io, [&reactors, read_engine, process, reply = std::move(reply)] {
          NodeReading reading;
          reading.version = program_version;
          reading.engine = read_engine();
          for (const auto& each : reactors) {
            reading.reactors.push_back(each->counters());
            reading.tallies.push_back(&each->tally());
          }
          reading.process = process;
          constexpr std::string_view text_format = "text/plain; version=0.0.4; charset=utf-8";
          answer_with(*reply, http_text(200, text_format, metrics_text(reading)));
        });
      });
}

}  // namespace viewgate::gateway
