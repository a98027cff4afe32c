#include "gateway/spill.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <system_error>
#include <utility>

namespace viewgate::gateway {
namespace {

constexpr std::uint64_t block_bytes = 4096;  // a file system with larger ones keeps what it cannot give back

struct Blocks {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

Blocks whole_blocks(std::uint64_t begin, std::uint64_t end) {
  const auto first = (begin + block_bytes - 1) / block_bytes * block_bytes;
  return {first, std::max(first, end / block_bytes * block_bytes)};
}

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

std::unique_ptr<SpillFile> SpillFile::make(const std::string& directory, std::shared_ptr<SpillBudget> budget,
                                           std::string& problem) {
  const int file = open_nameless(directory);
  if (file >= 0) return std::unique_ptr<SpillFile>(new SpillFile(std::make_shared<Open>(file, std::move(budget))));
  problem = "no file can be made in " + directory + " (snapshot.directory): " + reason();
  return nullptr;
}

SpillFile::Open::~Open() {
  ::close(file);
  budget->give_back(bytes);
}

SpillFile::~SpillFile() {
  const auto budget = open_->budget;
  budget->run_aside([open = std::move(open_)]() mutable { open.reset(); });
}

std::optional<std::uint64_t> SpillFile::append(std::string_view bytes) {
  if (!open_->budget->take(bytes.size())) {
    problem_ = "all that lies in files would have more than snapshot.disk_bytes";
    return std::nullopt;
  }
  if (!write(end_, bytes)) {
    open_->budget->give_back(bytes.size());
    return std::nullopt;
  }
  open_->bytes += bytes.size();
  return std::exchange(end_, end_ + bytes.size());
}

bool SpillFile::overwrite(std::uint64_t offset, std::string_view bytes) { return write(offset, bytes); }

bool SpillFile::write(std::uint64_t offset, std::string_view bytes) {
  for (std::size_t written = 0; written < bytes.size();) {
    const auto step =
        ::pwrite(open_->file, bytes.data() + written, bytes.size() - written, static_cast<off_t>(offset + written));
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) {
      problem_ = "a file could not be written: " + reason();
      return false;
    }
    written += static_cast<std::size_t>(step);
  }
  return true;
}

void SpillFile::release(std::uint64_t offset, std::size_t size) {
  if (size == 0) return;
  // Together with what was released on either side of it, since a block may have held parts of both.
  std::uint64_t begin = offset;
  std::uint64_t end = offset + size;
  std::uint64_t freed_before = 0;
  auto next = released_.lower_bound(begin);
  if (next != released_.begin() && std::prev(next)->second == begin) --next;
  while (next != released_.end() && next->first <= end) {
    freed_before += whole_blocks(next->first, next->second).bytes();
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = released_.erase(next);
  }
  released_.emplace(begin, end);
  const Blocks whole = whole_blocks(begin, end);
  if (whole.bytes() == freed_before || !is_punching_) return;
  is_punching_ = ::fallocate(open_->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(whole.begin),
                             static_cast<off_t>(whole.bytes())) == 0;
  if (!is_punching_) return;
  open_->bytes -= whole.bytes() - freed_before;
  open_->budget->give_back(whole.bytes() - freed_before);
}

std::optional<std::string> SpillFile::read(std::uint64_t offset, std::size_t size) const {
  std::string out(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const auto step = ::pread(open_->file, out.data() + have, size - have, static_cast<off_t>(offset + have));
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return std::nullopt;
    have += static_cast<std::size_t>(step);
  }
  return out;
}

std::optional<std::string> SpillFile::read_cached(std::uint64_t offset, std::size_t size) const {
  std::string out(size, '\0');
  iovec into{out.data(), out.size()};
  const auto step = ::preadv2(open_->file, &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (step < 0 || static_cast<std::size_t>(step) < size) return std::nullopt;
  return out;
}

SpilledTexts::SpilledTexts(std::shared_ptr<const SpillFile> file, std::vector<Place> places, PageCache cache)
    : file_(std::move(file)), places_(std::move(places)), cache_(cache) {
  for (const auto& each : places_) bytes_ += each.size;
}

std::optional<std::string> SpilledTexts::text_at_once(std::size_t index) const {
  if (cache_ == PageCache::not_asked) return std::nullopt;
  return file_->read_cached(places_[index].offset, places_[index].size);
}

}  // namespace viewgate::gateway
