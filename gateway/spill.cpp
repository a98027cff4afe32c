#include "gateway/spill.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace viewgate::gateway {
namespace {

std::string reason() { return std::generic_category().message(errno); }

/// A file without a name. Not every file system can make one; there it gets a name for a moment.
int open_nameless(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string name = directory + "/viewgate-bootstrap-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

bool SpillBudget::take(std::size_t bytes) {
  const std::size_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= bytes_max_) return true;
  give_back(bytes);
  return false;
}

std::unique_ptr<SpillFile> SpillFile::make(const std::string& directory, std::shared_ptr<SpillBudget> budget,
                                           std::string& problem) {
  const int file = open_nameless(directory);
  if (file >= 0) return std::unique_ptr<SpillFile>(new SpillFile(file, std::move(budget)));
  problem = "no file can be made in " + directory + " (snapshot.directory): " + reason();
  return nullptr;
}

SpillFile::~SpillFile() {
  ::close(file_);
  budget_->give_back(end_);
}

std::optional<std::uint64_t> SpillFile::append(std::string_view bytes) {
  if (!budget_->take(bytes.size())) {
    problem_ = "all bootstraps in files would have more than snapshot.disk_bytes";
    return std::nullopt;
  }
  for (std::size_t written = 0; written < bytes.size();) {
    const auto step =
        ::pwrite(file_, bytes.data() + written, bytes.size() - written, static_cast<off_t>(end_ + written));
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) {
      problem_ = "a bootstrap could not be written to its file: " + reason();
      budget_->give_back(bytes.size());
      return std::nullopt;
    }
    written += static_cast<std::size_t>(step);
  }
  return std::exchange(end_, end_ + bytes.size());
}

std::optional<std::string> SpillFile::read(std::uint64_t offset, std::size_t size) const {
  std::string out(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const auto step = ::pread(file_, out.data() + have, size - have, static_cast<off_t>(offset + have));
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return std::nullopt;
    have += static_cast<std::size_t>(step);
  }
  return out;
}

SpilledTexts::SpilledTexts(std::shared_ptr<const SpillFile> file, std::vector<Place> places)
    : file_(std::move(file)), places_(std::move(places)) {
  for (const auto& each : places_) bytes_ += each.size;
}

}  // namespace viewgate::gateway
