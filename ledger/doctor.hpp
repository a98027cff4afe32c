// Examines a database that carries a ledger, or shall: what would keep nodes from serving it, lose commits, or surprise an
// operator. Reads only, but for one notification that it sends to itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ledger/error.hpp"

namespace viewgate::ledger {

struct Finding {
  enum class Level { ok, warn, fail };
  Level level = Level::ok;
  std::string check;  ///< one word
  std::string text;   ///< one line: what was found, and what would be right
};

struct ExamineOptions {
  std::chrono::milliseconds time_max{10000};  ///< of one question
  std::uint64_t disk_bytes = 0;               ///< what the ledger may take; 0: unknown
};

/// Blocking, on connections of its own. Errors: unavailable, timeout (the database cannot be asked at all). Where there is
/// no ledger yet, the findings end with that.
[[nodiscard]] Result<std::vector<Finding>> examine(const std::string& conninfo, ExamineOptions options);

}  // namespace viewgate::ledger
