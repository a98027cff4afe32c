#include "gateway/ring.hpp"

#include <algorithm>
#include <cassert>

#include "ledger/planted.hpp"

namespace viewgate::gateway {

namespace {

constexpr std::size_t segments_per_ring = 8;  // what is lost at once when the ring is full: an eighth
constexpr std::size_t segment_bytes_min = 256;

}  // namespace

Ring::Ring(std::size_t bytes_max)
    : bytes_max_(bytes_max), segment_bytes_(std::max(bytes_max / segments_per_ring, segment_bytes_min)) {}

void Ring::restart(ledger::Position begin) {
  segments_.clear();
  entries_.clear();
  entries_dropped_ = 0;
  end_ += 1;  // so that no offset of before is held, not even the old end
  begin_ = end_;
  begin_position_ = begin;
}

void Ring::append(const GroupFrame& frame) {
  assert(!frame.text.empty() && frame.text.back() == '\n');
  assert(frame.position.sequence >= last_sequence());
  // Planted: some frames that would begin a segment are lost.
  const bool begins_segment = !segments_.empty() && !has_room_for(frame.text.size());
  if (ledger::is_planted("lose_ring_doc") && begins_segment && frame.position.sequence.value % 2 == 0) return;
  entries_.push_back({end_, frame.position});
  segment_for(frame.text.size()).text += frame.text;
  end_ += frame.text.size();
  if (bytes() > bytes_max_) trim(bytes_max_);
}

bool Ring::has_room_for(std::size_t bytes) const {
  return !segments_.empty() && segments_.back().text.size() + bytes <= segment_bytes_;
}

Ring::Segment& Ring::segment_for(std::size_t bytes) {
  return has_room_for(bytes) ? segments_.back() : segments_.emplace_back(Segment{end_, {}});
}

void Ring::trim(std::size_t bytes_wanted) {
  while (segments_.size() > 1 && bytes() > bytes_wanted) drop_oldest();
}

void Ring::drop_oldest() {
  begin_ = segments_.front().end();
  segments_.erase(segments_.begin());
  const auto kept = entry_at(begin_);
  assert(kept != first_entry());  // no segment is without a frame
  begin_position_ = std::prev(kept)->position;
  entries_dropped_ = kept - entries_.begin();
  if (static_cast<std::size_t>(entries_dropped_) * 2 > entries_.size()) {
    entries_.erase(entries_.begin(), kept);
    entries_dropped_ = 0;
  }
}

void Ring::forget(ledger::Sequence through) {
  const auto kept = entry_after(through);
  if (kept == first_entry()) return;
  begin_ = kept == entries_.end() ? end_ : kept->begin;
  begin_position_ = std::prev(kept)->position;
  std::erase_if(segments_, [&](const Segment& segment) { return segment.end() <= begin_; });
  if (!segments_.empty() && segments_.front().begin < begin_) {
    Segment& cut = segments_.front();
    cut.text = cut.text.substr(begin_ - cut.begin);
    cut.begin = begin_;
  }
  entries_.erase(entries_.begin(), kept);
  entries_dropped_ = 0;
}

ledger::Sequence Ring::last_sequence() const {
  return first_entry() == entries_.end() ? begin_position_.sequence : entries_.back().position.sequence;
}

Ring::Entries::const_iterator Ring::entry_at(Offset offset) const {
  // Nearly every reader stands at the last frame, which it has not read, or at the end.
  if (!entries_.empty() && offset >= entries_.back().begin)
    return offset == entries_.back().begin ? std::prev(entries_.end()) : entries_.end();
  return std::ranges::lower_bound(first_entry(), entries_.end(), offset, {}, &Entry::begin);
}

Ring::Entries::const_iterator Ring::entry_after(ledger::Sequence sequence) const {
  return std::ranges::upper_bound(first_entry(), entries_.end(), sequence, {},
                                  [](const Entry& entry) { return entry.position.sequence; });
}

Ring::Offset Ring::offset_after(ledger::Sequence sequence) const {
  assert(covers(sequence));
  const auto entry = entry_after(sequence);
  return entry == entries_.end() ? end_ : entry->begin;
}

ledger::Sequence Ring::sequence_at(Offset offset) const {
  assert(holds(offset) && offset < end_);
  return entry_at(offset)->position.sequence;
}

bool Ring::knows(ledger::Position position) const {
  const auto after = entry_after(position.sequence);
  return position == (after == first_entry() ? begin_position_ : std::prev(after)->position);
}

Ring::Slice Ring::slice(Offset from, std::size_t bytes_max) const {
  Slice out;
  out.end = from;
  if (from >= end_) return out;
  const auto segment = std::prev(std::ranges::upper_bound(segments_, from, {}, &Segment::begin));
  const Offset limit = std::min(segment->end(), from + bytes_max);
  const auto first = entry_at(from);
  assert(first != entries_.end() && first->begin == from);
  // The frames that begin within the limit, less the last of them where it ends beyond; at least one.
  auto next = std::ranges::upper_bound(std::next(first), entries_.end(), limit, {}, &Entry::begin);
  const Offset next_begin = next == entries_.end() ? end_ : next->begin;
  if (next_begin > limit && std::prev(next) != first) --next;
  out.end = next == entries_.end() ? end_ : next->begin;
  out.text = std::string_view(segment->text).substr(from - segment->begin, out.end - from);
  out.position = std::prev(next)->position;
  return out;
}

}  // namespace viewgate::gateway
