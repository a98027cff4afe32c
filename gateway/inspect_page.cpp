#include "gateway/inspect_page.hpp"

#include <algorithm>
#include <charconv>

namespace viewgate::gateway {
namespace {

const std::vector<std::string_view> of_a_page{"sort", "q", "limit", "after"};  // what every list may be asked with

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string listed(const std::vector<std::string_view>& names) {
  std::string out;
  for (const auto name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

std::string_view bare(std::string_view sort) { return sort.starts_with('-') ? sort.substr(1) : sort; }

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

void sort_by(PageQuestion& question, std::string_view sort) {
  question.sort = bare(sort);
  question.descending = sort.starts_with('-');
}

bool holds(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string not_known(const PageForm& form, std::string_view name) {
  auto known = form.others;
  if (!form.sorts.empty()) known.insert(known.end(), of_a_page.begin(), of_a_page.end());
  return shown_name(name) + ": is not known here; " + (known.empty() ? "nothing" : listed(known)) + " may be asked";
}

/// Empty: the item was taken.
std::string take(PageQuestion& out, const PageForm& form, const std::string& name, const std::string& value) {
  if (holds(form.others, name)) {
    out.others.emplace_back(name, value);
  } else if (form.sorts.empty() || !holds(of_a_page, name)) {
    return not_known(form, name);
  } else if (name == "sort") {
    std::vector<std::string_view> names;
    for (const auto each : form.sorts) names.push_back(bare(each));
    if (!holds(names, bare(value))) return "sort: must be one of " + listed(names) + ", or one of them behind a -";
    sort_by(out, value);
  } else if (name == "q") {
    out.search = value;
    std::ranges::transform(out.search, out.search.begin(), lower);
  } else if (name == "limit") {
    if (!parse_number(value, out.limit) || out.limit == 0 || out.limit > PageQuestion::limit_max) {
      return "limit: must be a number from 1 to " + std::to_string(PageQuestion::limit_max);
    }
  } else {
    out.after = parse_place(value);
    if (!out.after) return "after: must be what the page before told as next";
  }
  return {};
}

}  // namespace

std::string place_text(const RowPlace& place) {
  return std::to_string(place.number) + ":" + std::to_string(place.text.size()) + ":" + place.text + place.id;
}

std::optional<RowPlace> parse_place(std::string_view text) {
  RowPlace out;
  std::size_t text_bytes = 0;
  const auto number = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(text.size(), number.size() + 1));
  const auto size = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(text.size(), size.size() + 1));
  if (!parse_number(number, out.number) || !parse_number(size, text_bytes)) return std::nullopt;
  if (text_bytes > text.size()) return std::nullopt;
  out.text = text.substr(0, text_bytes);
  out.id = text.substr(text_bytes);
  return out;
}

std::variant<PageQuestion, std::string> parse_page(std::string_view target, const PageForm& form) {
  const auto mark = target.find('?');
  const auto query = parse_query(mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1));
  if (!query) return "the query is not name=value&…, percent-encoded, each name once";
  PageQuestion out;
  if (!form.sorts.empty()) sort_by(out, form.sorts.front());
  for (const auto& [name, value] : *query) {
    if (auto wrong = take(out, form, name, value); !wrong.empty()) return wrong;
  }
  return out;
}

bool is_found_in(std::string_view text, std::string_view search) {
  // Not by std::ranges: clang 14, which clang-tidy is of, does not compile what GCC 12 has of it.
  const auto is_same = [](char one, char other) { return lower(one) == other; };
  return search.empty() || std::search(text.begin(), text.end(), search.begin(), search.end(), is_same) != text.end();
}

}  // namespace viewgate::gateway
