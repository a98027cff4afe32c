// The recent documents of one group on one reactor, as the bytes that go to the sockets. A subscription is a position
// in it: nothing is copied or encoded per subscriber, and a slow reader costs a number.
//
// Bytes lie in segments; a document never crosses a segment, so a slice is always one contiguous piece. Offsets count
// every byte ever appended and never repeat. What is too old goes by whole segments; a reader that stood there asks the
// ledger's history and comes back. A ring without documents holds no memory: most groups are quiet.
//
// Owned by its reactor's thread. A slice is valid until the next append, trim or restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/ports.hpp"
#include "ledger/commit.hpp"

namespace viewgate::gateway {

class Ring {
 public:
  using Offset = std::uint64_t;

  explicit Ring(std::size_t bytes_max);

  /// Empty, holding everything above `begin` from now on. Every reader that stood in it has to come back through
  /// history, also one that had read to the end.
  void restart(ledger::Position begin);

  void append(const GroupFrame& frame);

  /// Drops old segments until at most `bytes` are held, always keeping the newest.
  void trim(std::size_t bytes);

  /// Drops the frames of commits up to `through`; readers of what comes after it do not notice.
  void forget(ledger::Sequence through);

  /// Every frame above this one that was ever delivered is here.
  [[nodiscard]] ledger::Sequence begin_sequence() const { return begin_position_.sequence; }
  [[nodiscard]] ledger::Sequence last_sequence() const;  ///< of the newest frame; begin_sequence where there is none
  [[nodiscard]] Offset begin() const { return begin_; }
  [[nodiscard]] Offset end() const { return end_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(end_ - begin_); }

  /// Whether a reader that has everything up to `sequence` can read on here.
  [[nodiscard]] bool covers(ledger::Sequence sequence) const { return sequence >= begin_sequence(); }
  [[nodiscard]] bool holds(Offset offset) const { return offset >= begin_; }

  /// Where the first frame above `sequence` begins (the end where there is none). The ring covers `sequence`.
  [[nodiscard]] Offset offset_after(ledger::Sequence sequence) const;

  /// The sequence of the frame that begins at `offset`, which is held and not the end.
  [[nodiscard]] ledger::Sequence sequence_at(Offset offset) const;

  /// Whether this very position is here, stamp and all: then a reader that stands at it can read on, unseen by the
  /// ledger.
  [[nodiscard]] bool knows(ledger::Position position) const;

  struct Slice {
    std::string_view text;      ///< complete documents, each ended by a newline; empty at the end
    Offset end = 0;             ///< where to read on
    ledger::Position position;  ///< of the last frame in it; says nothing where there is none
  };
  /// Frames from `from` on, at most `bytes_max` of them, but at least one.
  [[nodiscard]] Slice slice(Offset from, std::size_t bytes_max) const;

 private:
  struct Segment {
    Offset begin;
    std::string text;
    [[nodiscard]] Offset end() const { return begin + text.size(); }
  };
  struct Entry {
    Offset begin;
    ledger::Position position;
  };
  using Entries = std::vector<Entry>;

  void drop_oldest();
  [[nodiscard]] bool has_room_for(std::size_t bytes) const;  ///< the newest segment
  [[nodiscard]] Segment& segment_for(std::size_t bytes);
  [[nodiscard]] Entries::const_iterator first_entry() const { return entries_.begin() + entries_dropped_; }
  [[nodiscard]] Entries::const_iterator entry_at(Offset offset) const;
  [[nodiscard]] Entries::const_iterator entry_after(ledger::Sequence sequence) const;

  const std::size_t bytes_max_;
  const std::size_t segment_bytes_;
  std::vector<Segment> segments_;  // oldest first, none without a frame; never more than about eight
  Entries entries_;                // a frame each, oldest first, after those already dropped
  std::ptrdiff_t entries_dropped_ = 0;
  Offset begin_ = 0;
  Offset end_ = 0;
  ledger::Position begin_position_;
};

}  // namespace viewgate::gateway
