// Loads one WebSocket server, whatever it is, and prints what it delivered as one line of JSON: peers.py runs it against each
// server in turn.
//
//   fanout  so many messages are outstanding at most (--window): deliveries per second, and the server's CPU for them
//   rate    messages at an even pace: latency of each delivery from the time at which its message was due
//   idle    what the server's memory grows by, for each connection
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "loadtest/peers/publishers.hpp"
#include "loadtest/peers/receivers.hpp"
#include "loadtest/process_use.hpp"
#include "loadtest/schedule.hpp"

namespace {

using namespace viewgate::loadtest;
using std::chrono::milliseconds;

struct Arguments {
  std::string mode;
  Greeting greeting;
  PublisherOptions publisher;
  std::size_t clients = 1000;
  std::size_t window = 1;
  std::size_t bytes = 300;
  double rate = 100;
  double seconds = 5;
  std::vector<pid_t> servers;
};

ProcessUse use_of(const std::vector<pid_t>& servers) {
  ProcessUse out;
  for (const pid_t pid : servers) {
    const ProcessUse one = process_use(pid);
    out.cpu_seconds += one.cpu_seconds;
    out.rss_bytes += one.rss_bytes;
  }
  return out;
}

double own_cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

class Load {
 public:
  explicit Load(const Arguments& arguments)
      : arguments_(arguments),
        before_(use_of(arguments.servers)),
        receivers_(loop_, arguments.greeting, arguments.clients) {}

  void run() {
    if (arguments_.mode == "idle") return idle();
    publisher_ = make_publisher(arguments_.publisher, loop_);
    probe();
    if (arguments_.mode == "rate") return rate();
    fanout();
  }

 private:
  void turn_for(std::chrono::duration<double> time) {
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
    while (Clock::now() < end) turn(milliseconds(2));
  }

  void turn(milliseconds wait_max) {
    loop_.turn(wait_max);
    if (receivers_.closed() > 0) throw std::runtime_error("the server closed a connection");
    if (publisher_ && !publisher_->problem().empty()) throw std::runtime_error(publisher_->problem());
  }

  void publish(Clock::time_point due) { publisher_->publish(marked_text({due, ++published_}, arguments_.bytes)); }

  /// Until everybody has something: who is not subscribed yet would be missed by what follows.
  void probe() {
    if (!publisher_) {
      receivers_.send_from_first(client_frame(1, "go"));
      return turn_for(std::chrono::seconds(1));
    }
    for (int attempt = 0; attempt < 20; ++attempt) {
      const std::uint64_t before = receivers_.delivered();
      publish(Clock::now());
      const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
      while (receivers_.delivered() < before + receivers_.count() && Clock::now() < end) turn(milliseconds(2));
      if (receivers_.delivered() == before + receivers_.count()) return;
      turn_for(milliseconds(300));
    }
    throw std::runtime_error("not everybody is subscribed after twenty messages");
  }

  /// The window is over everybody: a message is outstanding until the last has it.
  void keep_window_full(Clock::time_point end) {
    const std::uint64_t delivered_before = receivers_.delivered(), published_before = published_;
    while (Clock::now() < end) {
      const std::uint64_t complete = (receivers_.delivered() - delivered_before) / receivers_.count();
      while (publisher_ && published_ - published_before < complete + arguments_.window) publish(Clock::now());
      turn(milliseconds(1));
    }
    if (!publisher_) return;
    const std::uint64_t all = delivered_before + (published_ - published_before) * receivers_.count();
    const Clock::time_point give_up = Clock::now() + std::chrono::seconds(10);
    while (receivers_.delivered() < all && Clock::now() < give_up) turn(milliseconds(1));
    lost_ += all - std::min(all, receivers_.delivered());
  }

  void fanout() {
    keep_window_full(Clock::now() + std::chrono::seconds(1));
    begin();
    keep_window_full(Clock::now() + length());
    end({});
  }

  void rate() {
    turn_for(milliseconds(300));
    receivers_.measure_after(published_);
    begin();
    const Schedule schedule(Clock::now(), arguments_.rate, length());
    const std::uint64_t all = receivers_.delivered() + schedule.count() * receivers_.count();
    for (std::size_t i = 0; i < schedule.count(); ++i) {
      // The last two milliseconds are spent looking, since a wait ends late.
      while (Clock::now() < schedule.due(i))
        turn(milliseconds(schedule.due(i) - Clock::now() > milliseconds(2) ? 1 : 0));
      publish(schedule.due(i));
    }
    const Clock::time_point give_up = Clock::now() + std::chrono::seconds(10);
    while (receivers_.delivered() < all && Clock::now() < give_up) turn(milliseconds(1));
    lost_ += all - std::min(all, receivers_.delivered());
    const Histogram& latency = receivers_.latency();
    end({{"p50_ms", latency.percentile(0.5)}, {"p99_ms", latency.percentile(0.99)}, {"max_ms", latency.max()}});
  }

  void idle() {
    turn_for(std::chrono::seconds(3));
    const auto grown =
        static_cast<double>(use_of(arguments_.servers).rss_bytes) - static_cast<double>(before_.rss_bytes);
    std::printf("{\"mode\":\"idle\",\"bytes_per_connection\":%.0f}\n", grown / static_cast<double>(receivers_.count()));
  }

  Clock::duration length() const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arguments_.seconds));
  }

  void begin() {
    began_ = Clock::now();
    delivered_ = receivers_.delivered();
    own_cpu_ = own_cpu_seconds();
    before_ = use_of(arguments_.servers);
  }

  void end(const std::vector<std::pair<std::string, double>>& further) {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    const auto delivered = static_cast<double>(receivers_.delivered() - delivered_);
    const double server = use_of(arguments_.servers).cpu_seconds - before_.cpu_seconds;
    std::printf(
        "{\"mode\":\"%s\",\"deliveries_per_second\":%.0f,\"cpu_seconds_per_million\":%.3f,\"server_cpu_percent\":%.0f,"
        "\"client_cpu_percent\":%.0f,\"gaps\":%llu,\"lost\":%llu",
        arguments_.mode.c_str(), delivered / seconds, server / delivered * 1e6, server / seconds * 100,
        (own_cpu_seconds() - own_cpu_) / seconds * 100, static_cast<unsigned long long>(receivers_.gaps()),
        static_cast<unsigned long long>(lost_));
    for (const auto& [name, value] : further) std::printf(",\"%s\":%.3f", name.c_str(), value);
    std::printf("}\n");
  }

  const Arguments& arguments_;
  Loop loop_;
  ProcessUse before_;
  Receivers receivers_;
  std::unique_ptr<Publisher> publisher_;
  std::uint32_t published_ = 0;
  std::uint64_t delivered_ = 0, lost_ = 0;
  double own_cpu_ = 0;
  Clock::time_point began_;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  std::string address, publish_address;
  std::vector<std::string> texts, binaries;
  CLI::App app("Loads one WebSocket server and says what it delivered.");
  app.add_option("mode", arguments.mode)->required()->check(CLI::IsMember({"fanout", "rate", "idle"}));
  app.add_option("--address", address, "host:port of the server")->required();
  app.add_option("--path", arguments.greeting.path);
  app.add_option("--subprotocol", arguments.greeting.subprotocol);
  app.add_option("--text", texts, "a text frame that each client sends first; may be repeated");
  app.add_option("--binary", binaries, "a binary one");
  app.add_option("--clients", arguments.clients);
  app.add_option("--window", arguments.window, "fanout: messages outstanding");
  app.add_option("--rate", arguments.rate, "rate: messages per second");
  app.add_option("--seconds", arguments.seconds);
  app.add_option("--bytes", arguments.bytes, "of each message");
  app.add_option("--pid", arguments.servers, "the server's processes");
  app.add_option("--publish", arguments.publisher.kind)
      ->required()
      ->check(CLI::IsMember({"http", "nats", "ws", "sql", "none"}));
  app.add_option("--publish-address", publish_address, "where it is not the server's");
  app.add_option("--publish-path", arguments.publisher.path);
  app.add_option("--publish-before", arguments.publisher.before, "http: what stands before the message");
  app.add_option("--publish-after", arguments.publisher.after, "http: what stands behind it");
  app.add_option("--database", arguments.publisher.database);
  app.add_option("--statement", arguments.publisher.statement);
  CLI11_PARSE(app, argc, argv);
  try {
    arguments.greeting.address = parse_address(address);
    arguments.publisher.address = parse_address(publish_address.empty() ? address : publish_address);
    for (const std::string& text : texts) arguments.greeting.frames += client_frame(1, text);
    for (const std::string& binary : binaries) arguments.greeting.frames += client_frame(2, binary);
    Load(arguments).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_load: %s\n", error.what());
    return 1;
  }
}
