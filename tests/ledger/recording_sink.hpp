// A TailSink that remembers what it was told and checks what must hold of it: every commit whole, in order, once.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ledger/ports.hpp"

namespace viewgate::testing {

class RecordingSink : public ledger::TailSink {
 public:
  struct Space {
    int watched = 0;
    ledger::Position position;            ///< the last whole commit, or where it was watched from
    std::vector<ledger::Commit> commits;  ///< whole, as put together from parts
    std::vector<std::size_t> parts;       ///< how many each of them had
    std::optional<ledger::Commit> open;   ///< begun, not ended
    std::size_t open_parts = 0;
    std::vector<ledger::errc> broken;
    std::vector<std::int64_t> erased;  ///< through which sequences
  };

  void on_watched(const std::string& space, ledger::Position head) override {
    Space& seen = spaces[space];
    ++seen.watched;
    seen.position = head;
    if (when_watched) when_watched(space);
  }

  void on_part(ledger::CommitPartPtr part) override {
    Space& seen = spaces[part->space];
    ++parts;
    is_in_turn = true;
    EXPECT_GT(seen.watched, 0) << "a part of a space that is not watched";
    EXPECT_EQ(part->position.sequence, seen.position.sequence.next()) << part->space;
    EXPECT_EQ(part->first, !seen.open) << part->space << " " << part->position.sequence.value;
    if (!seen.open) {
      seen.open = ledger::Commit{part->space, part->position, part->provenance, {}};
      seen.open_parts = 0;
    }
    EXPECT_EQ(seen.open->position, part->position);
    seen.open->changes.insert(seen.open->changes.end(), part->changes.begin(), part->changes.end());
    ++seen.open_parts;
    if (part->last) {
      seen.position = part->position;
      seen.commits.push_back(std::move(*seen.open));
      seen.parts.push_back(seen.open_parts);
      seen.open.reset();
    }
    if (when_part) when_part(*part);
  }

  void on_erased(const std::string& space, ledger::Sequence through) override {
    spaces[space].erased.push_back(through.value);
  }

  void on_turn() override {
    ++turns;
    is_in_turn = false;
  }

  void on_broken(const std::string& space, ledger::errc why, ledger::Position head) override {
    Space& seen = spaces[space];
    seen.broken.push_back(why);
    seen.position = head;
    seen.open.reset();
  }

  void on_degraded(const ledger::Error& error) override {
    EXPECT_FALSE(is_degraded);
    is_degraded = true;
    ++degraded;
    last_error = error;
  }
  void on_restored() override {
    EXPECT_TRUE(is_degraded);
    is_degraded = false;
    ++restored;
  }
  void on_registry_moved() override { ++registry_moved; }

  [[nodiscard]] std::int64_t head(const std::string& space) const {
    const auto found = spaces.find(space);
    return found == spaces.end() ? -1 : found->second.position.sequence.value;
  }

  std::map<std::string, Space> spaces;
  int parts = 0;
  int turns = 0;
  bool is_in_turn = false;
  bool is_degraded = false;
  int degraded = 0;
  int restored = 0;
  int registry_moved = 0;
  ledger::Error last_error;
  std::function<void(const std::string&)> when_watched;
  std::function<void(const ledger::CommitPart&)> when_part;
};

}  // namespace viewgate::testing
