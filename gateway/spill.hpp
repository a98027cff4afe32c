// Files for what is too large for memory and may be lost at any moment: bootstraps on their way to clients. A file has no
// name, so nothing is left behind however the process ends, and its bytes count against one bound until it is closed.
//
// Thread-safe, but for `append`, which one thread at a time may call. Reading is what the page cache makes of it: the bytes
// were written moments ago.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::gateway {

/// How many bytes all files together have, and may have.
class SpillBudget {
 public:
  explicit SpillBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  /// False: it would be too many, and nothing was counted.
  [[nodiscard]] bool take(std::size_t bytes);
  void give_back(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_{0};
};

class SpillFile {
 public:
  /// Null: none can be made there; `problem` then says why.
  static std::unique_ptr<SpillFile> make(const std::string& directory, std::shared_ptr<SpillBudget> budget,
                                         std::string& problem);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// Where it was written. Absent: the budget or the disk is full, or the disk failed; `problem` says which. The file then
  /// holds what it held before.
  [[nodiscard]] std::optional<std::uint64_t> append(std::string_view bytes);
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Absent: the disk failed.
  [[nodiscard]] std::optional<std::string> read(std::uint64_t offset, std::size_t size) const;

 private:
  SpillFile(int file, std::shared_ptr<SpillBudget> budget) : file_(file), budget_(std::move(budget)) {}

  const int file_;
  const std::shared_ptr<SpillBudget> budget_;
  std::uint64_t end_ = 0;
  std::string problem_;
};

/// Texts that lie in a file, in order. Immutable once it is shared.
class SpilledTexts {
 public:
  struct Place {
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };
  SpilledTexts(std::shared_ptr<const SpillFile> file, std::vector<Place> places);

  [[nodiscard]] std::size_t count() const { return places_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size_of(std::size_t index) const { return places_[index].size; }
  /// Absent: the disk failed.
  [[nodiscard]] std::optional<std::string> text(std::size_t index) const {
    return file_->read(places_[index].offset, places_[index].size);
  }

 private:
  const std::shared_ptr<const SpillFile> file_;
  const std::vector<Place> places_;
  std::size_t bytes_ = 0;
};

}  // namespace viewgate::gateway
