// The fold of one subscription: snapshot and commits applied to a set of records, with every promise of the protocol
// checked on the way.
//
// It keeps the records' text, the cursor and nothing else, and it survives the connection: what a client may keep
// across a cut is a set and the cursor that belongs to it, moved together. What was not complete when the link was lost
// (a part of a commit, a snapshot without its `ready`) is forgotten.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loadtest/slices.hpp"

namespace viewgate::loadtest {

/// Broken promises, in the words of the protocol. The first few are kept, all are counted.
class Violations {
 public:
  void add(std::string what) {
    ++count_;
    if (kept_.size() < kept_max) kept_.push_back(std::move(what));
  }
  std::size_t count() const { return count_; }
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  static constexpr std::size_t kept_max = 50;
  std::size_t count_ = 0;
  std::vector<std::string> kept_;
};

enum class FoldState {
  empty,     ///< no set, no cursor: the next subscription bootstraps
  building,  ///< a snapshot is under way
  stored,    ///< a set with its cursor, and no live link
  resuming,  ///< a link took the cursor; `ready` has not come yet
  live
};

class Fold {
 public:
  /// By key: `{"name":value,…}`, values as the server sent them.
  using Records = std::unordered_map<std::string, std::string>;

  /// `name` is what violations call it.
  Fold(std::string name, Violations& violations) : name_(std::move(name)), violations_(&violations) {}

  void subscribed(std::string_view context, bool resumed);
  void snapshot(std::string_view records);
  void ready(std::int64_t sequence, std::string_view position, std::int64_t head);
  void commit(std::int64_t sequence, std::string_view position, std::string_view events, bool last);
  /// A commit that is counted and not applied: the cursor moves, the records do not, so they are not to be compared.
  void pass(std::int64_t sequence, std::string_view position, bool last);
  void progress(std::int64_t sequence, std::string_view position);
  /// `at`: everything up to here has come; a commit at or below it would be late.
  void complete_through(std::int64_t sequence);
  /// The server asks for the set to be dropped; a bootstrap follows.
  void reset_required();
  /// The link is gone, or the subscription was ended.
  void lost();
  /// Forgets set and cursor: the next subscription bootstraps.
  void forget();

  FoldState state() const { return state_; }
  bool live() const { return state_ == FoldState::live; }
  std::int64_t sequence() const { return sequence_; }
  const Records& records() const { return records_; }
  /// context + "." + position; none where there is no set.
  std::optional<std::string> cursor() const;
  const std::string& context() const { return context_; }
  const std::string& position() const { return position_; }
  const std::string& name() const { return name_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t commits() const { return commits_; }

 private:
  struct Event {
    std::string kind, key, body;
  };

  void broken(const std::string& what) { violations_->add(name_ + ": " + what); }
  bool parse_events(std::string_view events);
  void apply(const Event& event);
  void update(std::string& record, const Event& event);
  static std::string record_text(const std::vector<Member>& columns);

  std::string name_;
  Violations* violations_;
  FoldState state_ = FoldState::empty;
  Records records_;
  std::string context_;
  std::string position_;
  std::int64_t sequence_ = 0;
  std::int64_t floor_ = 0;
  std::optional<std::int64_t> open_commit_;  ///< parts of this commit have come, its end has not
  std::vector<Event> pending_;
  std::uint64_t events_ = 0;
  std::uint64_t commits_ = 0;
  std::vector<Member> columns_scratch_, changed_scratch_;
  std::vector<std::string_view> elements_scratch_;
};

}  // namespace viewgate::loadtest
