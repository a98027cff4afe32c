// A walk over a hash table in pieces, between which the table may change: whatever is in it all the time is seen, once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace viewgate::gateway {

/// Where a walk stands; made anew to begin.
struct TableWalk {
  std::size_t next = 0;     ///< bucket
  std::size_t buckets = 0;  ///< of the table when it began
};

enum class Steps : std::uint8_t {
  more,  ///< there is more to see
  done,  ///< that was all
  anew   ///< the table has grown and lies in another order: what was seen so far may be seen again, so begin anew
};

/// Sees about `count` items: an empty bucket counts as one, since a table that was large once has many.
template <class Table, class See>
Steps walk_some(const Table& table, TableWalk& walk, std::size_t count, const See& see) {
  if (walk.next == 0) walk.buckets = table.bucket_count();
  if (walk.buckets != table.bucket_count()) {
    walk = {};
    return Steps::anew;
  }
  for (std::size_t seen = 0; seen < count && walk.next < walk.buckets; ++walk.next, ++seen) {
    for (auto item = table.begin(walk.next); item != table.end(walk.next); ++item, ++seen) see(*item);
  }
  return walk.next < walk.buckets ? Steps::more : Steps::done;
}

}  // namespace viewgate::gateway
