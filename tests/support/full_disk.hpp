// A disk that fills up under a PostgreSQL, and has room again. The shim stands in for the disk: a file system of the right size would
// need root. A program that uses it depends on the target viewgate_full_disk_shim.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/postgres_cluster.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {

class FullDisk {
 public:
  /// `start` starts the PostgreSQL that stands on this disk.
  template <class Start>
  explicit FullDisk(Start start) {
    // A place that PostgreSQL's own account may reach.
    const auto shim = directory_.path() / "full_disk_shim.so";
    std::filesystem::copy_file(VIEWGATE_BINARY_DIR "/bin/viewgate_full_disk_shim.so", shim);
    ::setenv("LD_PRELOAD", shim.c_str(), 1);
    ::setenv("FULL_DISK_FLAG", flag().c_str(), 1);
    start();
    ::unsetenv("LD_PRELOAD");
  }
  void fill() const { std::ofstream(flag()).close(); }
  void make_room() const { std::filesystem::remove(flag()); }

 private:
  [[nodiscard]] std::filesystem::path flag() const { return directory_.path() / "full"; }
  TemporaryDirectory directory_;
};

}  // namespace viewgate::testing
