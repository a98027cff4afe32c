// Pages of long lists, as an operator asks for them: sorted, searched, a bounded number of rows, and where to go on.
//
//   ?sort=-queue_bytes&q=ann&limit=50&after=…
//
// Rows come by one after the other, in any order, and only those of the page are kept: a list of 100,000 costs a look at
// each row and the memory of one page. Where a page ends is a place in the order and no number of rows, so rows that come
// and go before it move nothing. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gateway/http_api.hpp"

namespace viewgate::gateway {

/// Where a row stands in an order.
struct RowPlace {
  std::int64_t number = 0;  ///< what is sorted by, or
  std::string text;
  std::string id;  ///< no two rows have one
};

/// As `next` is told and `after` is given back.
[[nodiscard]] std::string place_text(const RowPlace& place);
[[nodiscard]] std::optional<RowPlace> parse_place(std::string_view text);

struct PageQuestion {
  static constexpr std::size_t limit_max = 200;

  std::string sort;  ///< one of the list's orders
  bool descending = false;
  std::string search;  ///< lower case; empty: all rows
  std::optional<RowPlace> after;
  std::size_t limit = 50;
  QueryItems others;  ///< that the list has beside these
};

/// What a list may be asked.
struct PageForm {
  std::vector<std::string_view> sorts;  ///< the first one where nothing is said, as it stands here ("-age": descending)
  std::vector<std::string_view> others;  ///< names of further items
};

/// From a request's target. Else what is wrong: it names the item and what would be right.
[[nodiscard]] std::variant<PageQuestion, std::string> parse_page(std::string_view target, const PageForm& form);

/// Whether `search` (lower case) stands in the text, without regard to the case of ASCII letters.
[[nodiscard]] bool is_found_in(std::string_view text, std::string_view search);

/// The rows of one page, out of all that come by.
template <class Row>
class PageOf {
 public:
  explicit PageOf(PageQuestion question) : question_(std::move(question)), rows_(Before{question_.descending}) {}

  [[nodiscard]] const PageQuestion& question() const { return question_; }

  /// Counts a row that was searched for. False: it is not on the page.
  [[nodiscard]] bool takes(const RowPlace& place) {
    ++matched_;
    const Before before{question_.descending};
    if (question_.after && !before(*question_.after, place)) return false;
    return rows_.size() <= question_.limit || before(place, rows_.rbegin()->first);
  }

  void add(RowPlace place, Row row) {
    rows_.insert_or_assign(std::move(place), std::move(row));
    if (rows_.size() > question_.limit + 1) rows_.erase(std::prev(rows_.end()));
  }

  /// The same question, answered by somebody else.
  void merge(PageOf&& other) {
    matched_ += other.matched_;
    for (auto& [place, row] : other.rows_) add(place, std::move(row));
  }

  void clear() {
    matched_ = 0;
    rows_.clear();
  }

  [[nodiscard]] std::size_t matched() const { return matched_; }

  /// In order. A row that moved while the list was walked may have come by twice.
  [[nodiscard]] std::vector<const Row*> rows() const {
    std::vector<const Row*> out;
    std::set<std::string_view> seen;
    for (const auto& [place, row] : rows_) {
      if (out.size() < question_.limit && seen.insert(place.id).second) out.push_back(&row);
    }
    return out;
  }

  /// Where the next page begins; absent: there is none.
  [[nodiscard]] std::optional<RowPlace> next() const {
    if (rows_.size() <= question_.limit) return std::nullopt;
    return std::next(rows_.begin(), static_cast<std::ptrdiff_t>(question_.limit) - 1)->first;
  }

 private:
  struct Before {
    bool descending;
    bool operator()(const RowPlace& one, const RowPlace& other) const {
      if (one.number != other.number) return (one.number < other.number) != descending;
      if (const int texts = one.text.compare(other.text); texts != 0) return (texts < 0) != descending;
      return one.id < other.id;
    }
  };

  PageQuestion question_;
  std::map<RowPlace, Row, Before> rows_;  // one more than the page, to know that there is a next one
  std::size_t matched_ = 0;
};

}  // namespace viewgate::gateway
