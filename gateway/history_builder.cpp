#include "gateway/history_builder.hpp"

#include <atomic>
#include <utility>

#include "gateway/documents.hpp"

namespace viewgate::gateway {

/// Shared with the thread that writes.
struct HistoryBuilder::Writing {
  explicit Writing(std::shared_ptr<SpillFile> made) : file(std::move(made)) {}

  /// After a failure nothing is written any more: each text lies where it was meant to, or is missing.
  void write(const std::string& text) {
    if (!failed.load(std::memory_order_relaxed) && !file->append(text)) failed = true;
    waiting_bytes.fetch_sub(text.size(), std::memory_order_relaxed);
  }

  const std::shared_ptr<SpillFile> file;
  std::atomic<std::size_t> waiting_bytes{0};
  std::atomic<bool> failed{false};
};

bool HistoryBuilder::add(const projection::GroupEvents& events) {
  moved_to_ = events.last ? events.position : ledger::Position{};
  std::string document;
  append_events(document, *spec_, events, events.position);
  if (!writing_ && text_.size() + document.size() <= limits_.history_commit_bytes) {
    text_ += document;
    return true;
  }
  if (spill(std::move(document))) return true;
  text_ = {};
  places_ = {};
  writing_ = nullptr;
  return false;
}

bool HistoryBuilder::spill(std::string document) {
  if (limits_.snapshot_disk_bytes == 0) {
    problem_ = "a catch-up has more than history.commit_bytes, and snapshot.disk_bytes allows no files";
    return false;
  }
  if (!writing_) {
    std::shared_ptr<SpillFile> file = SpillFile::make(limits_.snapshot_directory, disk_, problem_);
    if (!file) return false;
    writing_ = std::make_shared<Writing>(std::move(file));
  }
  if (writing_->failed) {
    problem_ = "its file cannot be written, or all files would have more than snapshot.disk_bytes";
    return false;
  }
  if (writing_->waiting_bytes.load(std::memory_order_relaxed) > limits_.snapshot_memory_bytes) {
    problem_ = "more than snapshot.memory_bytes of a catch-up wait for the disk";
    return false;
  }
  places_.push_back({spilled_bytes_, document.size()});
  spilled_bytes_ += document.size();
  writing_->waiting_bytes.fetch_add(document.size(), std::memory_order_relaxed);
  disk_->run_aside([writing = writing_, text = std::move(document)] { writing->write(text); });
  return true;
}

std::shared_ptr<const History> HistoryBuilder::finish(ledger::Position through) {
  auto out = std::make_shared<History>();
  out->text = std::move(text_);
  if (writing_) {
    const auto cache =
        limits_.snapshot_is_uncached ? SpilledTexts::PageCache::not_asked : SpilledTexts::PageCache::asked;
    out->spilled = std::make_shared<const SpilledTexts>(writing_->file, std::move(places_), cache);
  }
  out->through = through;
  out->position_token = spec_->sealer.seal(through);
  out->is_told = moved_to_ == through;
  return out;
}

}  // namespace viewgate::gateway
