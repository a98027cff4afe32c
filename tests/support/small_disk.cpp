#include "support/small_disk.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace viewgate::testing {

bool SmallDisk::can_be_made() {
  const auto user = std::to_string(::getuid());
  const bool is_root = ::geteuid() == 0;
  if (::unshare(is_root ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (!is_root) std::ofstream("/proc/self/uid_map") << user << " " << user << " 1\n";
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

SmallDisk::SmallDisk(std::size_t mebibytes) {
  const std::string options = "mode=0755,size=" + std::to_string(mebibytes) + "m";
  if (::mount("none", path().c_str(), "tmpfs", 0, options.c_str()) != 0)
    throw std::runtime_error("tmpfs cannot be mounted");
}

SmallDisk::~SmallDisk() { ::umount2(path().c_str(), MNT_DETACH); }

void SmallDisk::fill() const {
  const int file = ::open((path() / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  std::vector<char> block(std::size_t{1024} * 1024);
  while (!block.empty()) {
    if (::write(file, block.data(), block.size()) <= 0) block.resize(block.size() / 2);
  }
  ::close(file);
}

void SmallDisk::make_room() const { std::filesystem::remove(path() / "filler"); }

}  // namespace viewgate::testing
