// The strict reader's tool: the members of one object of a client's message, checked against what it may hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/json_text.hpp"

namespace viewgate::gateway {

enum class Presence : std::uint8_t { required, optional };

struct Field {
  std::string_view name;
  JsonKind kind;
  Presence presence = Presence::required;
};

/// A bad request on its way out of the readers; they are entered through parse_client_message and parse_mutation_body.
struct Refused {
  std::string message;
};

[[noreturn]] void refuse(std::string_view field, std::string_view what);

/// The text of a JSON string that holds a decimal number from 0 to 2^63 - 1, without sign or leading zeros. Absent: it does
/// not.
[[nodiscard]] std::optional<std::int64_t> json_decimal_value(std::string_view text);

class Members {
 public:
  struct Member {
    std::string name;
    std::string_view value;
    JsonKind kind;
  };

  /// `place`: what stands before the names of members in messages, for a part of a message ("mutations[0]."). The message
  /// itself has none, and has a member `type` that `check` does not ask for.
  explicit Members(std::string_view object, std::string place = {});

  [[nodiscard]] const std::vector<Member>& all() const { return members_; }
  [[nodiscard]] const Member* find(std::string_view name) const;

  /// Every member is one of `fields` and of its kind, every required one is there.
  void check(std::span<const Field> fields) const;

  /// The string of a member that check has found; bytes_max 0 = no limit but the message's.
  [[nodiscard]] std::string text(std::string_view name, std::size_t bytes_max = 0) const;
  /// The same, not empty.
  [[nodiscard]] std::string name(std::string_view name, std::size_t bytes_max) const;
  /// The raw text of a member, which may be absent.
  [[nodiscard]] std::string raw(std::string_view name, std::string_view absent) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  /// A decimal number in a string, from `least` to 2^63 - 1.
  [[nodiscard]] std::int64_t decimal(std::string_view name, std::int64_t least) const;

 private:
  [[nodiscard]] std::string known_names(std::span<const Field> fields) const;
  [[noreturn]] void refuse_member(std::string_view name, std::string_view what) const;

  std::string place_;
  std::vector<Member> members_;
};

}  // namespace viewgate::gateway
