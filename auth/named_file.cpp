#include "auth/named_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace viewgate::auth {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  const int number_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + " " + what);
}

/// Before it is opened, since to open some devices is to do something; and of what was opened, which may be another one by now.
void check_kind(const std::string& path, const struct stat& found, FileKind kind) {
  if (S_ISDIR(found.st_mode)) refuse(path, "is a directory");
  if (kind == FileKind::regular && !S_ISREG(found.st_mode)) {
    refuse(path, "is no regular file, and while the program runs nothing else is read");
  }
}

ssize_t read_some(int file, char* into, std::size_t bytes) {
  ssize_t got = 0;
  do got = ::read(file, into, bytes);
  while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

std::string read_named(const std::string& path, FileKind kind, std::size_t bytes_max) {
  constexpr std::size_t step = std::size_t{64} * 1024;
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) check_kind(path, found, kind);
  const int waiting = kind == FileKind::regular ? O_NONBLOCK : 0;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC | waiting));
  if (file.number() < 0 || ::fstat(file.number(), &found) != 0) refuse(path, "cannot be read");
  check_kind(path, found, kind);
  std::string out;
  ssize_t got = 0;
  do {
    const std::size_t before = out.size();
    out.resize(before + step);
    got = read_some(file.number(), out.data() + before, step);
    out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (out.size() > bytes_max) refuse(path, "is larger than " + std::to_string(bytes_max / 1024) + " KiB");
  } while (got > 0);
  if (got < 0) refuse(path, "cannot be read");
  return out;
}

}  // namespace viewgate::auth
