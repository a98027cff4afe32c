// The file of a consumer that may be killed at any instruction: records and cursor move in it together or not at all.
//
// An append-only journal of entries, each a length, a checksum and the documents of one whole step (a bootstrap to its
// `ready`, a commit with all its parts, a progress). Reading it through a Fold gives the set and the cursor; an entry
// that was cut by the kill fails its checksum and counts as not written. When the file has grown, it is written anew as
// one bootstrap beside the old one and renamed over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loadtest/fold.hpp"

namespace viewgate::loadtest {

class Journal {
 public:
  /// Opens or makes the file, cuts off what is torn at its end and applies the rest to `fold`, which is then `stored`
  /// or `empty`. Throws std::runtime_error naming the file.
  Journal(std::string path, Fold& fold);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Every document of the subscription in order. Returns once a whole step is on disk, or kept for its step.
  void take(std::string_view type, std::string_view text, bool last);
  /// The link is new: what was begun on the old one is forgotten.
  void forget_unfinished() { step_.clear(); }
  /// Writes the file anew from this fold when it has grown beyond bytes_max; the fold must be what the journal says.
  void shrink(const Fold& fold, std::uint64_t bytes_max);

  /// The journal as it stands on disk, without touching it; torn ends are not an error.
  static void read(const std::string& path, Fold& fold);

 private:
  void append(std::string_view payload);

  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::string step_;
};

}  // namespace viewgate::loadtest
