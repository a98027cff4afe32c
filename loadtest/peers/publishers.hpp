// How a message comes into the server that is compared: over its own door, or through PostgreSQL where it is fed from there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "loadtest/link.hpp"
#include "loadtest/peers/marks.hpp"

namespace viewgate::loadtest {

class Publisher {
 public:
  virtual ~Publisher() = default;
  /// Publishes this text without waiting for what becomes of it.
  virtual void publish(const std::string& text) = 0;
  /// A failure since the last look, or nothing.
  virtual std::string problem() { return {}; }
};

struct PublisherOptions {
  std::string kind;  ///< http, nats, ws, sql, or none: the server makes its messages itself
  Address address;
  std::string path;       ///< of http and ws; the subject of nats
  std::string before;     ///< http: stands before the text in what is posted
  std::string after;      ///< http: and behind it
  std::string database;   ///< sql
  std::string statement;  ///< sql: with $1 for the text
};

/// Null for none. Throws std::runtime_error where it cannot connect.
std::unique_ptr<Publisher> make_publisher(const PublisherOptions& options, Loop& loop);

}  // namespace viewgate::loadtest
