// A file system of its own that is really full when it is told to be: tmpfs, mounted where nobody but this test program and what it
// starts sees it, so that nothing of it outlives the program. Where the kernel does not let us mount (a container without the
// right), `can_be_made` says so.
#pragma once

#include <cstddef>
#include <filesystem>

#include "support/postgres_cluster.hpp"

namespace viewgate::testing {

class SmallDisk {
 public:
  /// Before the program has threads: from here on it has mounts of its own.
  static bool can_be_made();

  explicit SmallDisk(std::size_t mebibytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// Temporary directories that are made now (TMPDIR) lie on it.
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  /// To the last byte.
  void fill() const;
  void make_room() const;

 private:
  TemporaryDirectory directory_;
};

}  // namespace viewgate::testing
