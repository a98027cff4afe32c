// The limits and times of sessions and of the rings they read; defaults are the protocol's. Tests run with a twentieth.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "gateway/admission.hpp"
#include "gateway/protocol.hpp"
#include "projection/column_value.hpp"

namespace viewgate::gateway {

struct SessionOptions {
  std::size_t client_message_bytes = limits::client_message_bytes;
  std::size_t client_message_fragments = limits::client_message_fragments;
  std::size_t server_message_bytes = limits::server_message_bytes;
  std::size_t subscriptions = limits::subscriptions_per_socket;
  std::size_t groups = 100'000;           ///< followed for all sockets of a reactor; above it: error unavailable
  std::size_t messages_per_second = 500;  ///< of one client; above: close 4029
  std::size_t control_frames_per_second = limits::control_frames_per_second;
  std::size_t input_bytes_per_second = std::size_t{4} * 1024 * 1024;  ///< of one client; above: close 4029
  std::shared_ptr<Admission> admission = std::make_shared<Admission>(AdmissionLimits{});  ///< of all reactors
  std::size_t unsent_answers_bytes =
      std::size_t{64} * 1024;  ///< above it nothing more is read from that client until some are sent
  std::size_t snapshot_bytes_per_second = std::size_t{16} * 1024;  ///< a bootstrap read more slowly: close 4008
  std::chrono::milliseconds snapshot_send_time{3'600'000};  ///< the longest that it may take, whatever that rate allows
  std::size_t waiting_receipts_bytes =
      std::size_t{1024} * 1024;    ///< for the views to come as far; above it the socket is closed with 4008
  projection::ValueLimits values;  ///< of what mutations write
  int strikes = limits::strikes;

  std::chrono::milliseconds hello_time = limits::hello_time;
  std::chrono::milliseconds message_time = limits::client_message_time;
  std::chrono::milliseconds heartbeat = limits::heartbeat;
  std::chrono::milliseconds silence = limits::silence;
  std::chrono::milliseconds no_progress = limits::no_progress;
  std::chrono::milliseconds close_time = limits::close_time;
  std::chrono::milliseconds join_time{10'000};  ///< a group that the engine cannot follow by then: error unavailable
  std::chrono::milliseconds expiry_warning{60'000};  ///< notice auth_expiring so long before the token's end

  std::size_t ring_bytes = std::size_t{1024} * 1024;  ///< of one group
  std::size_t rings_bytes =
      std::size_t{256} * 1024 * 1024;            ///< of all groups of a reactor; above it rings are shortened
  std::chrono::milliseconds group_linger{5000};  ///< how long a group without subscribers is still followed
};

}  // namespace viewgate::gateway
