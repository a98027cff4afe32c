#include "ledger/part_builder.hpp"

#include <utility>

namespace viewgate::ledger {
namespace {

// The columns of viewgate.read_log.
enum Column {
  column_space,
  column_sequence,
  column_stamp,
  column_source,
  column_role,
  column_at,
  column_changes,
  column_ordinal,
  column_kind,
  column_collection,
  column_key,
  column_before,
  column_after,
  column_groups,
  column_request_id,
  column_fields,
  column_principal,
  column_client,
  column_number,
  column_receipt,
  column_body,
  column_by_key
};

constexpr std::int64_t large_commit = -2;  // in place of an ordinal

}  // namespace

std::optional<ChangeKind> change_kind_of(std::string_view letter) {
  if (letter == "c") return ChangeKind::created;
  if (letter == "u") return ChangeKind::updated;
  if (letter == "d") return ChangeKind::deleted;
  if (letter == "m") return ChangeKind::moved;
  if (letter == "e") return ChangeKind::erased;
  return std::nullopt;
}

pg::Params read_log_params(std::span<const FollowerPtr> followers, std::size_t changes_max,
                           std::size_t part_bytes_max) {
  std::vector<std::string> spaces;
  std::vector<std::int64_t> afters;
  std::vector<std::int64_t> stamps;
  for (const FollowerPtr& follower : followers) {
    spaces.push_back(follower->space);
    afters.push_back(follower->position.sequence.value);
    stamps.push_back(static_cast<std::int64_t>(follower->position.stamp.value));
  }
  pg::Params out;
  out.emplace_back(pg::array_text(spaces));
  out.emplace_back(pg::array_text(afters));
  out.emplace_back(std::to_string(changes_max));
  out.emplace_back(pg::array_text(stamps));
  out.emplace_back(std::to_string(part_bytes_max));
  return out;
}

PartBuilder::PartBuilder(std::size_t part_bytes_max, std::function<void(CommitPartPtr)> on_part, ReadFor reader)
    : part_bytes_max_(part_bytes_max), on_part_(std::move(on_part)), reader_(reader) {}

void PartBuilder::follow(FollowerPtr follower) { followers_.insert_or_assign(follower->space, follower); }

void PartBuilder::add(const pg::Row& row) {
  if (const std::string_view space = row.text(column_space); space != space_ || !follower_) enter_space(space);
  if (!follower_ || !follower_->is_watched || follower_->fault || is_aside_) return;
  if (!part_ && !begin_commit(row)) return;
  if (row.integer(column_sequence) != part_->position.sequence.value) return fail(errc::log_corrupt);
  if (row.integer(column_ordinal) == large_commit) return set_aside();
  if (row.integer(column_ordinal) >= 0) return append(row);
  sign(row);
  if (changes_ == 0) hand_on(true);
}

void PartBuilder::set_aside() {
  follower_->is_large = true;
  is_aside_ = true;
  part_.reset();
}

/// The row that stands before a commit's changes.
void PartBuilder::sign(const pg::Row& row) {
  Provenance& provenance = part_->provenance;
  provenance.request_id = row.text(column_request_id);
  provenance.fields = row.text(column_fields);
  provenance.principal = row.text(column_principal);
  provenance.client = row.text(column_client);
  if (!row.is_null(column_number)) {
    part_->receipt = CommitReceipt{row.integer(column_number), row.string(column_receipt), row.string(column_body)};
  }
  part_bytes_ = bytes_of(*part_);
}

void PartBuilder::finish() {
  if (part_ && follower_) fail(errc::log_corrupt);
  follower_ = nullptr;
}

void PartBuilder::enter_space(std::string_view space) {
  if (part_ && follower_) fail(errc::log_corrupt);
  space_ = space;
  is_aside_ = false;
  const auto found = followers_.find(space_);
  follower_ = found == followers_.end() ? nullptr : found->second;
}

bool PartBuilder::begin_commit(const pg::Row& row) {
  const Position position{Sequence{row.integer(column_sequence)},
                          Stamp{static_cast<std::uint64_t>(row.integer(column_stamp))}};
  if (position.sequence != follower_->position.sequence.next()) {
    fail(errc::log_corrupt);
    return false;
  }
  if (follower_->begun && *follower_->begun != position.stamp) {
    fail(errc::history_diverged);
    return false;
  }
  changes_ = row.integer(column_changes);
  received_ = 0;
  skip_ = follower_->begun_changes;
  part_ = std::make_unique<CommitPart>();
  part_->space = follower_->space;
  part_->position = position;
  part_->provenance.source = row.text(column_source);
  part_->provenance.role = row.text(column_role);
  part_->provenance.at = row.text(column_at);
  part_->first = skip_ == 0;
  part_->by_key = row.boolean(column_by_key);
  part_bytes_ = bytes_of(*part_);
  return true;
}

void PartBuilder::append(const pg::Row& row) {
  if (++received_ <= skip_) return;
  const std::int64_t ordinal = row.integer(column_ordinal);
  const auto kind = change_kind_of(row.text(column_kind));
  if (!kind || (!part_->by_key && ordinal != received_ - 1)) return fail(errc::log_corrupt);
  if (kind == ChangeKind::erased && reader_ == ReadFor::views) return fail(errc::history_erased);
  const std::string_view collection = row.text(column_collection);
  const std::string_view key = row.text(column_key);
  if (part_->by_key && part_bytes_ >= part_bytes_max_ && !part_->changes.empty()) {
    const Change& previous = part_->changes.back();
    const bool is_same_record = previous.key == key && previous.collection == collection;
    if (is_same_record && reader_ == ReadFor::views) return merge(row, *kind);
    if (!is_same_record) hand_on(false);
    if (!part_) return;  // unwatched by whoever took the part
  }
  Change& change = part_->changes.emplace_back();
  change.ordinal = ordinal;
  change.kind = *kind;
  change.collection = collection;
  change.key = key;
  change.before = row.optional_string(column_before);
  change.after = row.optional_string(column_after);
  if (!row.is_null(column_groups)) change.groups = pg::texts_of(row.text(column_groups));
  part_bytes_ += bytes_of(change);
  if (received_ == changes_) hand_on(true);
}

/// The part's last change is of the same record: it now leads from where it began to where this one ends.
void PartBuilder::merge(const pg::Row& row, ChangeKind kind) {
  Change& change = part_->changes.back();
  part_bytes_ -= bytes_of(change);
  change.ordinal = row.integer(column_ordinal);
  change.kind = kind;
  change.after = row.optional_string(column_after);
  if (!row.is_null(column_groups)) change.groups = pg::texts_of(row.text(column_groups));
  part_bytes_ += bytes_of(change);
  if (received_ == changes_) hand_on(true);
}

/// The follower moves first: whoever takes the part may unwatch the space.
void PartBuilder::hand_on(bool is_last) {
  part_->last = is_last;
  bytes_ += part_bytes_;
  std::unique_ptr<CommitPart> rest;
  if (is_last) {
    follower_->position = part_->position;
    follower_->begun.reset();
    follower_->begun_changes = 0;
  } else {
    follower_->begun = part_->position.stamp;
    follower_->begun_changes = received_ - 1;  // the row at hand opens the next part
    rest = std::make_unique<CommitPart>();
    rest->space = part_->space;
    rest->position = part_->position;
    rest->provenance = part_->provenance;
    rest->by_key = part_->by_key;
    rest->receipt = std::exchange(part_->receipt, std::nullopt);
    rest->first = false;
  }
  part_bytes_ = rest ? bytes_of(*rest) : 0;
  const CommitPartPtr done = std::move(part_);
  part_ = std::move(rest);
  on_part_(done);
  if (!follower_->is_watched) part_.reset();
}

void PartBuilder::fail(errc why) {
  follower_->fault = why;
  part_.reset();
}

}  // namespace viewgate::ledger
