// Connections to any WebSocket server, each greeted with the same frames: they count the marks that arrive and look at nothing
// else, so that the client costs little beside what it measures. What each is told is checked by its marks' numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loadtest/histogram.hpp"
#include "loadtest/link.hpp"
#include "loadtest/peers/marks.hpp"

namespace viewgate::loadtest {

/// A client's frame, whole; the mask is zero, so that it costs nothing.
std::string client_frame(std::uint8_t opcode, std::string_view payload);
/// The upgrade, with this subprotocol or none.
std::string upgrade_of(const Address& address, const std::string& path, const std::string& subprotocol);

struct Greeting {
  Address address;
  std::string path = "/";
  std::string subprotocol;
  std::string frames;  ///< sent once the upgrade is answered
};

class Receivers {
 public:
  /// Connects all, a bounded number at a time. Throws std::runtime_error where one is refused, or after a minute.
  Receivers(Loop& loop, const Greeting& greeting, std::size_t count);
  ~Receivers();
  Receivers(const Receivers&) = delete;
  Receivers& operator=(const Receivers&) = delete;

  std::size_t count() const { return all_.size(); }
  std::uint64_t delivered() const { return delivered_; }
  /// Marks that did not follow on the one before on their connection: lost, twice, or out of order.
  std::uint64_t gaps() const { return gaps_; }
  std::uint64_t closed() const { return closed_; }
  /// From due to here, of marks numbered above `after`.
  void measure_after(std::uint32_t after);
  const Histogram& latency() const { return latency_; }
  /// What one connection sends; for servers that begin when they are told to.
  void send_from_first(const std::string& bytes);

 private:
  class Receiver;

  void arrived(Receiver& at, const Mark& mark);

  Loop* loop_;
  Greeting greeting_;
  std::vector<std::unique_ptr<Receiver>> all_;
  std::size_t greeted_ = 0;
  std::uint64_t delivered_ = 0, gaps_ = 0, closed_ = 0;
  std::uint32_t measured_after_ = UINT32_MAX;
  Histogram latency_;
  std::string problem_;
};

}  // namespace viewgate::loadtest
