#include "gateway/history_file.hpp"

#include <utility>

namespace viewgate::gateway {

/// Shared with the thread that writes.
struct HistoryFile::Writing {
  Writing(std::shared_ptr<SpillFile> made, std::shared_ptr<std::atomic<std::size_t>> waiting)
      : file(std::move(made)), waiting_bytes(std::move(waiting)) {}

  /// After a failure nothing is written any more: each text lies where it was meant to, or is missing.
  void write(const std::string& text) {
    if (!failed.load(std::memory_order_relaxed) && !file->append(text)) failed = true;
    waiting_bytes->fetch_sub(text.size(), std::memory_order_relaxed);
  }

  const std::shared_ptr<SpillFile> file;
  const std::shared_ptr<std::atomic<std::size_t>> waiting_bytes;
  std::atomic<bool> failed{false};
};

std::optional<SpilledTexts::Place> HistoryFile::append(std::string document, std::string& problem) {
  const EngineLimits& limits = room_.limits;
  if (limits.snapshot_disk_bytes == 0) {
    problem = "above history.commit_bytes, or history.total_bytes with others, and snapshot.disk_bytes allows no files";
    return std::nullopt;
  }
  if (!writing_) {
    std::shared_ptr<SpillFile> file = SpillFile::make(limits.snapshot_directory, room_.disk, problem);
    if (!file) return std::nullopt;
    writing_ = std::make_shared<Writing>(std::move(file), room_.waiting_bytes);
  }
  if (writing_->failed) {
    problem = "its file cannot be written, or all files would have more than snapshot.disk_bytes";
    return std::nullopt;
  }
  if (room_.waiting_bytes->load(std::memory_order_relaxed) > limits.snapshot_memory_bytes) {
    problem = "more than snapshot.memory_bytes of catch-ups wait for the disk";
    return std::nullopt;
  }
  const SpilledTexts::Place place{end_, document.size()};
  end_ += document.size();
  room_.waiting_bytes->fetch_add(document.size(), std::memory_order_relaxed);
  room_.disk->run_aside([writing = writing_, text = std::move(document)] { writing->write(text); });
  return place;
}

SpilledTextsPtr HistoryFile::texts(std::vector<SpilledTexts::Place> places) const {
  const auto cache =
      room_.limits.snapshot_is_uncached ? SpilledTexts::PageCache::not_asked : SpilledTexts::PageCache::asked;
  return std::make_shared<const SpilledTexts>(writing_->file, std::move(places), cache);
}

}  // namespace viewgate::gateway
