#include "projection/syntax.hpp"

#include <pg_query.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <memory>
#include <optional>

#include "projection/json_text.hpp"
#include "projection/word_count.hpp"

namespace viewgate::projection {
namespace {

namespace json = boost::json;

// Each place costs a walk over the text, and nobody reads more.
constexpr std::size_t problems_max = 100;

/// The type's name and the members of {"Type":{…}}.
Node unwrap(const json::value& value) {
  const json::object* outer = value.if_object();
  if (outer == nullptr || outer->size() != 1) return {};
  const auto& entry = *outer->begin();
  const json::object* members = entry.value().if_object();
  if (members == nullptr) return {};
  return {std::string_view(entry.key().data(), entry.key().size()), members};
}

/// The offset of the character number `count` (from 0) behind `from`.
std::size_t advance_characters(std::string_view text, std::size_t from, std::size_t count) {
  std::size_t at = from;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    --count;
  }
  return at;
}

std::optional<Statement> parse_statement(std::string_view text, std::size_t base, std::size_t length,
                                         Problems& problems) {
  Statement out;
  out.base = base;
  out.start = skip_comments(text, base);
  const std::string statement(text.substr(base, length));
  if (const std::size_t words = count_words(statement); words > statement_words_max) {
    problems.add(out.start, "a statement of " + std::to_string(words) + " words and operators; at most " +
                                std::to_string(statement_words_max) + " are allowed beside constants");
    return std::nullopt;
  }
  const std::unique_ptr<PgQueryParseResult, void (*)(PgQueryParseResult*)> result(
      new PgQueryParseResult(pg_query_parse(statement.c_str())), [](PgQueryParseResult* parsed) {
        pg_query_free_parse_result(*parsed);
        delete parsed;
      });
  if (result->error != nullptr) {
    // cursorpos counts characters from 1; lineno would be a line of PostgreSQL's own source.
    const int position = result->error->cursorpos;
    problems.add(position > 0 ? advance_characters(text, base, static_cast<std::size_t>(position - 1)) : out.start,
                 result->error->message);
    return std::nullopt;
  }
  json::parse_options options;
  options.max_depth = std::size_t{16} * expression_depth_max;
  boost::system::error_code error;
  const json::value parsed = json::parse(result->parse_tree, error, {}, options);
  if (error) {
    problems.add(out.start,
                 "nested too deeply; at most " + std::to_string(expression_depth_max) + " levels are allowed");
    return std::nullopt;
  }
  const json::array& statements = parsed.at("stmts").as_array();
  if (statements.empty()) return std::nullopt;
  out.tree = statements.front().at("stmt");
  return out;
}

}  // namespace

void Problems::add(std::size_t offset, std::string message) {
  if (problems_.size() < problems_max) problems_.push_back(make(offset, std::move(message)));
}

Problem Problems::make(std::size_t offset, std::string message) const {
  Problem out;
  out.message = std::move(message);
  for (std::size_t i = 0; i < std::min(offset, text_.size()); ++i) {
    if (text_[i] == '\n') {
      ++out.line;
      out.column = 1;
    } else if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) {
      ++out.column;
    }
  }
  return out;
}

std::vector<Problem> Problems::take() {
  std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
  return std::move(problems_);
}

std::size_t skip_comments(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++at;
    } else if (text.substr(at, 2) == "--") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      std::size_t depth = 0;
      do {
        if (text.substr(at, 2) == "/*") {
          ++depth;
          at += 2;
        } else if (text.substr(at, 2) == "*/") {
          --depth;
          at += 2;
        } else {
          ++at;
        }
      } while (depth > 0 && at < text.size());
    } else {
      break;
    }
  }
  return std::min(at, text.size());
}

const json::value* Node::find(std::string_view member) const {
  return members == nullptr ? nullptr : members->if_contains({member.data(), member.size()});
}

Node Node::node(std::string_view member) const {
  const json::value* value = find(member);
  return value == nullptr ? Node{} : unwrap(*value);
}

Node Node::plain(std::string_view member) const {
  const json::value* value = find(member);
  return value == nullptr ? Node{} : Node{member, value->if_object()};
}

std::vector<Node> Node::list(std::string_view member) const {
  std::vector<Node> out;
  const json::value* value = find(member);
  if (value == nullptr || !value->is_array()) return out;
  for (const json::value& item : value->get_array()) out.push_back(unwrap(item));
  return out;
}

std::string Node::text(std::string_view member) const {
  const json::value* value = find(member);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

bool Node::flag(std::string_view member) const {
  const json::value* value = find(member);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::vector<std::string> Node::strings(std::string_view member) const {
  std::vector<std::string> out;
  for (const Node& item : list(member)) {
    if (item.type == "String") out.push_back(item.text("sval"));
  }
  return out;
}

Node Statement::node() const { return unwrap(tree); }

std::size_t Statement::place(const Node& node) const {
  const json::value* location = node.find("location");
  if (location == nullptr || !location->is_int64() || location->get_int64() < 0) return start;
  return base + static_cast<std::size_t>(location->get_int64());
}

std::vector<Statement> parse_statements(std::string_view text, Problems& problems) {
  std::vector<Statement> out;
  if (text.size() > model_bytes_max) {
    problems.add(0, "a model of " + std::to_string(text.size()) + " bytes; at most " + std::to_string(model_bytes_max) +
                        " are allowed");
    return out;
  }
  if (!valid_utf8(text) || text.find('\0') != std::string_view::npos) {
    problems.add(0, "not UTF-8 text, or a zero byte in it");
    return out;
  }
  const std::string whole(text);
  const std::unique_ptr<PgQuerySplitResult, void (*)(PgQuerySplitResult*)> split(
      new PgQuerySplitResult(pg_query_split_with_scanner(whole.c_str())), [](PgQuerySplitResult* result) {
        pg_query_free_split_result(*result);
        delete result;
      });
  if (split->error != nullptr) {
    const int position = split->error->cursorpos;
    problems.add(position > 0 ? advance_characters(text, 0, static_cast<std::size_t>(position - 1)) : 0,
                 split->error->message);
    return out;
  }
  for (int i = 0; i < split->n_stmts; ++i) {
    const auto base = static_cast<std::size_t>(split->stmts[i]->stmt_location);
    const auto length = static_cast<std::size_t>(split->stmts[i]->stmt_len);
    if (auto statement = parse_statement(text, base, length, problems)) out.push_back(std::move(*statement));
  }
  return out;
}

}  // namespace viewgate::projection
