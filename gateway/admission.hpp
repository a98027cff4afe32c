// How many connections one address and one principal have, over all reactors of the process. Thread-safe; asked when a
// connection begins, when its hello was accepted and when it ends, never on the way of a commit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace viewgate::gateway {

/// 0: no limit.
struct AdmissionLimits {
  std::size_t address_connections = 0;
  std::size_t address_handshakes = 0;  ///< new connections a second
  std::size_t principal_connections = 0;
  std::size_t principal_requests = 0;  ///< over HTTP that are being answered
};

/// Who was turned away, by the limit that was reached.
struct AdmissionRefusals {
  std::uint64_t address_connections = 0;
  std::uint64_t address_handshakes = 0;
  std::uint64_t principal_connections = 0;
  std::uint64_t principal_requests = 0;
};

class Admission : public std::enable_shared_from_this<Admission> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Held as long as the connection lasts.
  class Place {
   public:
    Place(std::shared_ptr<Admission> admission, std::string name)
        : admission_(std::move(admission)), name_(std::move(name)) {}
    ~Place() {
      if (admission_) admission_->leave(name_);
    }
    Place(Place&&) noexcept = default;
    Place& operator=(Place&& other) noexcept {
      std::swap(admission_, other.admission_);
      std::swap(name_, other.name_);
      return *this;
    }

   private:
    std::shared_ptr<Admission> admission_;
    std::string name_;
  };

  explicit Admission(AdmissionLimits limits) : limits_(limits) {}

  /// For those to come; nobody who is in is put out.
  void set_limits(AdmissionLimits limits);

  /// Absent: that address has as many as it may, or opens them too fast. An IPv6 address counts with its /64, which is
  /// one subscriber's. `address`: as bytes, 4 or 16.
  [[nodiscard]] std::optional<Place> enter_address(std::string_view address, Time now);
  /// Absent: that principal has as many as it may.
  [[nodiscard]] std::optional<Place> enter_principal(std::string_view issuer, std::string_view subject);
  /// The same of its requests, each of which is on a connection of the principal besides.
  [[nodiscard]] std::optional<Place> enter_request(std::string_view issuer, std::string_view subject);

  [[nodiscard]] AdmissionRefusals refusals();

 private:
  struct Count {
    std::size_t connections = 0;
    Time window;
    std::size_t begun_in_window = 0;
  };

  [[nodiscard]] std::optional<Place> enter(std::string name, std::size_t AdmissionLimits::*limit,
                                           std::uint64_t AdmissionRefusals::*refused);
  void leave(const std::string& name);
  void forget_idle(Time now);

  AdmissionLimits limits_;
  AdmissionRefusals refusals_;
  std::mutex mutex_;
  std::unordered_map<std::string, Count> counts_;
  Time forgotten_at_;
};

}  // namespace viewgate::gateway
