// Turns the rows of a bootstrap into the documents that its readers share: encoded once, in memory up to a bound, behind
// that in a file.
//
// A large view is read in pages of its key, each in a snapshot of its own, so what is collected is of several moments. The
// log between the first and the last of them makes it exact: `correct` is given every commit in it, and each record that a
// commit touched is taken out of the pages, and what the last commit left of it is put in: at the end, and in between as often
// as what changed is too much to be held. A record that none touched is the same in all of them. So no page has to know
// which moment it is of.
//
// Used by one thread at a time but where it says otherwise; it writes to a disk and reads from it, so that is a thread that may wait (BootstrapThread).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/ports.hpp"
#include "gateway/spill.hpp"
#include "ledger/commit.hpp"

namespace viewgate::gateway {

/// What all bootstraps of a process hold, until the last reader has let go of it.
struct SnapshotRoom {
  SnapshotRoom(std::size_t disk_bytes_max, RunAside aside)
      : disk(std::make_shared<SpillBudget>(disk_bytes_max, std::move(aside))) {}
  std::atomic<std::size_t> memory{0};
  const std::shared_ptr<SpillBudget> disk;
};

/// Bytes of a room's memory, counted for as long as this lives.
class RoomCharge {
 public:
  RoomCharge(std::shared_ptr<SnapshotRoom> room, std::size_t bytes) : room_(std::move(room)) { set(bytes); }
  ~RoomCharge() {
    if (room_) set(0);
  }
  RoomCharge(RoomCharge&& other) noexcept : room_(std::move(other.room_)), bytes_(std::exchange(other.bytes_, 0)) {}
  RoomCharge& operator=(RoomCharge&& other) noexcept {
    std::swap(room_, other.room_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void set(std::size_t bytes) {
    room_->memory.fetch_add(bytes - bytes_, std::memory_order_relaxed);  // modulo 2^64: less is a large number
    bytes_ = bytes;
  }

 private:
  std::shared_ptr<SnapshotRoom> room_;
  std::size_t bytes_ = 0;
};

class SnapshotBuilder {
 public:
  SnapshotBuilder(GroupSpecPtr spec, const EngineLimits& limits, std::shared_ptr<SnapshotRoom> room);

  /// A row of the read. False: give up, `problem` says why.
  [[nodiscard]] bool add_row(std::string_view row);
  /// How many rows came, in the view or not.
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// The key of the last row, for the page after it. Absent: it is not a record.
  [[nodiscard]] std::optional<std::string> last_key() const;

  /// A commit, or a part of one, that came after the first page was read. In order. False: give up.
  [[nodiscard]] bool correct(const ledger::CommitPart& part);

  /// Null: give up.
  [[nodiscard]] std::shared_ptr<SnapshotChunks> finish();

  /// From any thread: nobody wants it any more; what is being done ends soon.
  void abandon() { is_abandoned_ = true; }
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }

  /// Of the documents so far, in memory and in the file.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Empty: there is none.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The problem is that others hold the room.
  [[nodiscard]] bool lacks_room() const { return lacks_room_; }

 private:
  /// A document, and the hashes of the keys in it.
  struct Held {
    std::shared_ptr<const std::string> text;
    std::vector<std::uint64_t> keys;
    RoomCharge keys_charge;

    [[nodiscard]] std::size_t bytes() const { return text->size() + keys.size() * sizeof(std::uint64_t); }
  };
  /// The same in the file: the hashes stand before the text.
  struct Spilled {
    SpilledTexts::Place text;
    std::size_t keys = 0;

    [[nodiscard]] std::size_t keys_bytes() const { return keys * sizeof(std::uint64_t); }
  };

  [[nodiscard]] bool fail(std::string problem);
  [[nodiscard]] bool fail_for_room(std::string problem);
  [[nodiscard]] bool add_element(std::string_view element);
  [[nodiscard]] bool close_chunk();
  [[nodiscard]] std::string document_of(std::string_view records) const;
  [[nodiscard]] bool put(std::string document, std::vector<std::uint64_t> keys);
  [[nodiscard]] bool is_too_much_for_memory(std::size_t more) const;
  void hold(std::string document, std::vector<std::uint64_t> keys);
  [[nodiscard]] bool has_file();
  [[nodiscard]] std::optional<Spilled> spill(const std::string& document, const std::vector<std::uint64_t>& keys);
  [[nodiscard]] bool apply_corrections();
  [[nodiscard]] std::optional<bool> has_any(const Spilled& spilled,
                                            const std::unordered_set<std::uint64_t>& touched) const;
  [[nodiscard]] bool clean(Spilled& spilled);
  /// Records that no correction touches; empty where there is none.
  struct Untouched {
    std::string records;
    std::vector<std::uint64_t> keys;
  };
  [[nodiscard]] std::optional<Untouched> untouched_of(std::string_view document) const;

  const GroupSpecPtr spec_;
  const EngineLimits& limits_;
  const std::shared_ptr<SnapshotRoom> room_;
  std::string records_;              // of the chunk that is being filled
  std::vector<std::uint64_t> keys_;  // of these
  std::string last_row_;
  std::size_t rows_ = 0;
  std::size_t held_bytes_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Held> held_;
  std::shared_ptr<SpillFile> file_;  // null: nothing was too much for memory yet
  std::vector<Spilled> spilled_;
  std::map<std::string, std::optional<std::string>, std::less<>> corrections_;  // key -> as `records_` has it, or gone
  std::size_t corrections_bytes_ = 0;
  RoomCharge corrections_charge_;
  std::string problem_;
  bool lacks_room_ = false;
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace viewgate::gateway
