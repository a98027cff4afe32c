#include "gateway/snapshot_builder.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <utility>
#include <variant>

#include "gateway/protocol_json.hpp"
#include "ledger/planted.hpp"
#include "projection/json_text.hpp"
#include "projection/record.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t correction_overhead = 128;  // of a node of the map and its strings

/// A document that is counted for as long as anybody holds it.
struct Counted {
  Counted(std::string document, std::shared_ptr<SnapshotRoom> room)
      : text(std::move(document)), charge(std::move(room), text.size()) {}

  const std::string text;
  const RoomCharge charge;
};

std::uint64_t hash_of(std::string_view key) { return std::hash<std::string_view>{}(key); }

/// As it stands in a file: the hashes, then the text.
std::string spilled_form(std::string_view document, const std::vector<std::uint64_t>& keys) {
  std::string out(keys.size() * sizeof(std::uint64_t), '\0');
  std::memcpy(out.data(), keys.data(), out.size());
  return out.append(document);
}

/// Of an element of a snapshot's records, which begins with it.
std::string_view key_in(std::string_view element) {
  constexpr std::string_view before = "{\"key\":";
  const auto end = projection::value_end(element, before.size());
  return element.substr(before.size(), end - before.size());
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(GroupSpecPtr spec, const EngineLimits& limits, std::shared_ptr<SnapshotRoom> room)
    : spec_(std::move(spec)), limits_(limits), room_(std::move(room)), corrections_charge_(room_, 0) {}

bool SnapshotBuilder::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

bool SnapshotBuilder::fail_for_room(std::string problem) {
  lacks_room_ = true;
  return fail(std::move(problem));
}

bool SnapshotBuilder::add_row(std::string_view row) {
  ++rows_;
  last_row_ = row;
  const auto element = spec_->group->snapshot_record(row);
  if (!element) return fail("a row is not what to_jsonb prints");
  return !*element || add_element(**element);
}

std::optional<std::string> SnapshotBuilder::last_key() const {
  const auto record = projection::Record::parse(spec_->group->table().layout, last_row_);
  if (!record) return std::nullopt;
  return spec_->group->key_of(*record);
}

bool SnapshotBuilder::add_element(std::string_view element) {
  records_ += records_.empty() ? '[' : ',';
  records_ += element;
  keys_.push_back(hash_of(key_in(element)));
  return records_.size() < limits_.snapshot_chunk_bytes || close_chunk();
}

std::string SnapshotBuilder::document_of(std::string_view records) const {
  std::string out;
  out.reserve(records.size() + 64);
  append_snapshot(out, spec_->channel, records);
  out += '\n';
  return out;
}

bool SnapshotBuilder::close_chunk() {
  if (records_.empty()) return true;
  records_ += ']';
  std::string document = document_of(records_);
  records_.clear();
  return put(std::move(document), std::exchange(keys_, {}));
}

bool SnapshotBuilder::put(std::string document, std::vector<std::uint64_t> keys) {
  bytes_ += document.size();
  if (bytes_ > limits_.snapshot_bytes) return fail("the view has more than snapshot.bytes");
  const std::size_t with_keys = document.size() + keys.size() * sizeof(std::uint64_t);
  const bool belongs_in_file = file_ != nullptr || is_too_much_for_memory(with_keys);
  if (belongs_in_file && has_file()) {
    auto spilled = spill(document, keys);
    if (spilled) spilled_.push_back(*spilled);
    return spilled.has_value();
  }
  // Without a file, as much as all may have together.
  if (belongs_in_file && room_->memory.load(std::memory_order_relaxed) + with_keys > limits_.snapshot_total_bytes) {
    return fail_for_room(
        problem_.empty() ? "all bootstraps have more than snapshot.total_bytes, and no file may be used" : problem_);
  }
  problem_.clear();
  hold(std::move(document), std::move(keys));
  return true;
}

void SnapshotBuilder::hold(std::string document, std::vector<std::uint64_t> keys) {
  const auto counted = std::make_shared<Counted>(std::move(document), room_);
  RoomCharge keys_charge(room_, keys.size() * sizeof(std::uint64_t));
  held_.push_back(Held{{counted, &counted->text}, std::move(keys), std::move(keys_charge)});
  held_bytes_ += held_.back().bytes();
}

/// False: there may be none, or the directory takes none (`problem_`).
bool SnapshotBuilder::has_file() {
  if (room_->disk->bytes_max() == 0) return false;
  if (file_ == nullptr) file_ = SpillFile::make(limits_.snapshot_directory, room_->disk, problem_);
  return file_ != nullptr;
}

bool SnapshotBuilder::is_too_much_for_memory(std::size_t more) const {
  return held_bytes_ + more > limits_.snapshot_memory_bytes ||
         room_->memory.load(std::memory_order_relaxed) + more > limits_.snapshot_total_bytes;
}

/// Absent: give up.
std::optional<SnapshotBuilder::Spilled> SnapshotBuilder::spill(const std::string& document,
                                                               const std::vector<std::uint64_t>& keys) {
  const std::string bytes = spilled_form(document, keys);
  const auto offset = file_->append(bytes);
  if (offset) return Spilled{{*offset + bytes.size() - document.size(), document.size()}, keys.size()};
  static_cast<void>(fail_for_room(file_->problem()));
  return std::nullopt;
}

bool SnapshotBuilder::correct(const ledger::CommitPart& part) {
  if (ledger::is_planted("forget_corrections")) return true;  // planted: pages stay what they were
  for (const auto& change : part.changes) {
    if (change.collection != spec_->group->table().collection) continue;
    std::optional<std::string> element;
    if (change.after) {
      auto made = spec_->group->snapshot_record(*change.after);
      if (!made) return fail("a change of the log is not what to_jsonb prints");
      element = *std::move(made);
    }
    auto [found, is_new] = corrections_.try_emplace(change.key);
    if (is_new) corrections_bytes_ += correction_overhead + change.key.size();
    corrections_bytes_ += element ? element->size() : 0;
    corrections_bytes_ -= found->second ? found->second->size() : 0;
    found->second = std::move(element);
    if (corrections_bytes_ > limits_.snapshot_memory_bytes && !apply_corrections()) return false;
  }
  corrections_charge_.set(corrections_bytes_);
  return true;
}

bool SnapshotBuilder::apply_corrections() {
  if (!close_chunk()) return false;
  std::unordered_set<std::uint64_t> touched;
  touched.reserve(corrections_.size());
  for (const auto& [key, element] : corrections_) touched.insert(hash_of(key));
  const auto is_touched = [&](std::uint64_t key) { return touched.contains(key); };
  held_bytes_ = 0;
  for (auto& each : std::exchange(held_, {})) {
    if (!std::ranges::any_of(each.keys, is_touched)) {
      held_bytes_ += each.bytes();
      held_.push_back(std::move(each));
      continue;
    }
    bytes_ -= each.text->size();
    auto untouched = untouched_of(*each.text);
    if (!untouched) return fail("a document of a bootstrap is damaged");
    if (untouched->records.empty()) continue;
    std::string document = document_of(untouched->records);
    bytes_ += document.size();
    hold(std::move(document), std::move(untouched->keys));
  }
  for (std::size_t i = 0; i < spilled_.size(); ++i) {
    if (is_abandoned_) return fail("nobody wants it any more");
    const auto is_hit = has_any(spilled_[i], touched);
    if (!is_hit) return fail("a bootstrap could not be read from its file");
    if (*is_hit && !clean(spilled_[i])) return false;
  }
  std::erase_if(spilled_, [](const Spilled& each) { return each.text.size == 0; });
  corrections_bytes_ = 0;
  corrections_charge_.set(0);
  for (const auto& [key, element] : std::exchange(corrections_, {})) {
    if (element && !add_element(*element)) return false;
  }
  return close_chunk();
}

/// Absent: the file cannot be read.
std::optional<bool> SnapshotBuilder::has_any(const Spilled& spilled,
                                             const std::unordered_set<std::uint64_t>& touched) const {
  const std::size_t size = spilled.keys_bytes();
  const auto bytes = file_->read(spilled.text.offset - size, size);
  if (!bytes) return std::nullopt;
  std::vector<std::uint64_t> keys(spilled.keys);
  std::memcpy(keys.data(), bytes->data(), size);
  return std::ranges::any_of(keys, [&](std::uint64_t key) { return touched.contains(key); });
}

/// What stays of the document is shorter, so it is written over it: nobody reads the file before it is finished, and a file
/// that grew with what changed while it was made would have no bound. Its size is 0 where nothing stays.
bool SnapshotBuilder::clean(Spilled& spilled) {
  const auto text = file_->read(spilled.text.offset, spilled.text.size);
  const auto untouched = text ? untouched_of(*text) : std::nullopt;
  if (!untouched) return fail("a bootstrap could not be read from its file");
  const std::uint64_t place = spilled.text.offset - spilled.keys_bytes();
  const std::size_t place_bytes = spilled.keys_bytes() + spilled.text.size;
  bytes_ -= spilled.text.size;
  spilled = {};
  std::string bytes;
  if (!untouched->records.empty()) {
    const std::string document = document_of(untouched->records);
    bytes = spilled_form(document, untouched->keys);
    assert(bytes.size() <= place_bytes);
    if (!file_->overwrite(place, bytes)) return fail(file_->problem());
    spilled = Spilled{{place + bytes.size() - document.size(), document.size()}, untouched->keys.size()};
    bytes_ += document.size();
  }
  file_->release(place + bytes.size(), place_bytes - bytes.size());
  return true;
}

/// Absent: it is no document of ours.
std::optional<SnapshotBuilder::Untouched> SnapshotBuilder::untouched_of(std::string_view document) const {
  document.remove_suffix(1);
  const auto parsed = parse_server_document(document);
  const auto* snapshot = parsed ? std::get_if<Snapshot>(&*parsed) : nullptr;
  const auto records = snapshot != nullptr ? read_records(snapshot->records) : std::nullopt;
  if (!records) return std::nullopt;
  Untouched out;
  for (const auto& each : *records) {
    if (corrections_.contains(each.key)) continue;
    out.keys.push_back(hash_of(each.key));
    out.records += out.records.empty() ? "[" : ",";
    out.records.append("{\"key\":").append(each.key).append(",\"record\":").append(each.record).append("}");
  }
  if (!out.records.empty()) out.records += ']';
  return out;
}

std::shared_ptr<SnapshotChunks> SnapshotBuilder::finish() {
  if (!close_chunk()) return nullptr;
  if (!corrections_.empty() && !apply_corrections()) return nullptr;
  auto out = std::make_shared<SnapshotChunks>();
  for (auto& each : std::exchange(held_, {})) out->chunks.push_back(std::move(each.text));
  if (file_ == nullptr) return out;
  std::vector<SpilledTexts::Place> places;
  places.reserve(spilled_.size());
  for (const auto& each : spilled_) places.push_back(each.text);
  const auto cache = limits_.snapshot_is_uncached ? SpilledTexts::PageCache::not_asked : SpilledTexts::PageCache::asked;
  out->spilled = std::make_shared<const SpilledTexts>(std::move(file_), std::move(places), cache);
  return out;
}

}  // namespace viewgate::gateway
