// Files for what is too large for memory and may be lost at any moment: bootstraps and catch-ups on their way to clients. A file
// has no name, so nothing is left behind however the process ends, and its bytes count against one bound until it is closed.
//
// Whatever may wait for the disk belongs on a thread that may wait: writing, reading what is not in the page cache, and the
// end of a large file, whose blocks are freed by whoever closes it. Thread-safe, but for what writes, which one thread at a
// time may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/byte_budget.hpp"

namespace viewgate::gateway {

/// Runs it on a thread that may wait for the disk.
using RunAside = std::function<void(std::function<void()>)>;

/// How many bytes all files together have, and may have.
class SpillBudget : public ByteBudget {
 public:
  /// `aside`: where files are closed; empty: at once.
  explicit SpillBudget(std::size_t bytes_max, RunAside aside = {}) : ByteBudget(bytes_max), aside_(std::move(aside)) {}
  void run_aside(std::function<void()> call) const { aside_ ? aside_(std::move(call)) : call(); }

 private:
  const RunAside aside_;
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
  /// Over what was written there. False: the disk failed.
  [[nodiscard]] bool overwrite(std::uint64_t offset, std::string_view bytes);
  /// What was written there is not needed any more: its whole blocks go back to the file system and count no more, where
  /// the file system takes them; what is left of it stays counted.
  void release(std::uint64_t offset, std::size_t size);
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Absent: the disk failed.
  [[nodiscard]] std::optional<std::string> read(std::uint64_t offset, std::size_t size) const;
  /// The same without waiting. Absent: not all of it is in the page cache, or the file system cannot tell.
  [[nodiscard]] std::optional<std::string> read_cached(std::uint64_t offset, std::size_t size) const;

  /// What it takes of the budget.
  [[nodiscard]] std::size_t bytes() const { return open_->bytes; }

 private:
  /// Closed, and given back, by whoever lets go of it last.
  struct Open {
    Open(int descriptor, std::shared_ptr<SpillBudget> shared) : file(descriptor), budget(std::move(shared)) {}
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

    const int file;
    const std::shared_ptr<SpillBudget> budget;
    std::size_t bytes = 0;
  };

  explicit SpillFile(std::shared_ptr<Open> open) : open_(std::move(open)) {}
  [[nodiscard]] bool write(std::uint64_t offset, std::string_view bytes);

  std::shared_ptr<Open> open_;
  std::uint64_t end_ = 0;
  std::map<std::uint64_t, std::uint64_t> released_;  // begin -> end; no two touch
  bool is_punching_ = true;                          // false: the file system takes nothing back
  std::string problem_;
};

/// Texts that lie in a file, in order. Immutable once it is shared.
class SpilledTexts {
 public:
  struct Place {
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };
  enum class PageCache : std::uint8_t { asked, not_asked };

  SpilledTexts(std::shared_ptr<const SpillFile> file, std::vector<Place> places, PageCache cache = PageCache::asked);

  [[nodiscard]] std::size_t count() const { return places_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t file_bytes() const { return file_->bytes(); }
  [[nodiscard]] std::size_t size_of(std::size_t index) const { return places_[index].size; }
  /// May wait for the disk. Absent: it failed.
  [[nodiscard]] std::optional<std::string> text(std::size_t index) const {
    return file_->read(places_[index].offset, places_[index].size);
  }
  /// Does not wait. Absent: `text` may have to.
  [[nodiscard]] std::optional<std::string> text_at_once(std::size_t index) const;

 private:
  const std::shared_ptr<const SpillFile> file_;
  const std::vector<Place> places_;
  const PageCache cache_;
  std::size_t bytes_ = 0;
};
using SpilledTextsPtr = std::shared_ptr<const SpilledTexts>;

}  // namespace viewgate::gateway
