#include "projection/record.hpp"

#include <algorithm>
#include <numeric>

#include "projection/json_text.hpp"

namespace viewgate::projection {

RecordLayout::RecordLayout(std::vector<Column> columns) : columns_(std::move(columns)) {
  json_names_.reserve(columns_.size());
  for (const Column& column : columns_) json_names_.push_back(encode_json_string(column.name));
  order_.resize(columns_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
    const std::string& left = columns_[a].name;
    const std::string& right = columns_[b].name;
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
}

// jsonb prints {"name": value, "name": value} with the names in one fixed order, so the next name is nearly always the
// next column, and finding it is one comparison. Any other order and unknown names are found or skipped all the same.
std::optional<Record> Record::parse(const RecordLayout& layout, std::string_view text) {
  Record out;
  out.layout_ = &layout;
  out.slices_.assign(layout.size(), std::string_view("null"));
  out.values_.resize(layout.size());
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  if (text.empty() || text.front() != '{' || text.back() != '}') return std::nullopt;
  at = 1;
  skip_blanks();
  std::size_t expected = 0;
  while (at < text.size() && text[at] != '}') {
    const std::size_t name_end = text[at] == '"' ? value_end(text, at) : std::string_view::npos;
    if (name_end == std::string_view::npos) return std::nullopt;
    const std::string_view name = text.substr(at, name_end - at);
    at = name_end;
    skip_blanks();
    if (at >= text.size() || text[at] != ':') return std::nullopt;
    ++at;
    skip_blanks();
    const std::size_t end = value_end(text, at);
    if (end == std::string_view::npos) return std::nullopt;
    for (std::size_t tried = 0; tried < layout.order_.size(); ++tried) {
      const std::size_t place = (expected + tried) % layout.order_.size();
      const std::size_t column = layout.order_[place];
      if (layout.json_names_[column] != name) continue;
      out.slices_[column] = text.substr(at, end - at);
      expected = place + 1;
      break;
    }
    at = end;
    skip_blanks();
    if (at < text.size() && text[at] == ',') {
      ++at;
      skip_blanks();
    } else if (at + 1 != text.size()) {
      return std::nullopt;
    }
  }
  if (at + 1 != text.size()) return std::nullopt;
  return out;
}

const Value& Record::value(std::size_t column) const {
  std::optional<Value>& slot = values_[column];
  if (!slot) slot = decode_json(layout_->column(column).type, slices_[column]);
  return *slot;
}

}  // namespace viewgate::projection
