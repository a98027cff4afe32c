// The model's text as PostgreSQL's parser sees it: statements as parse trees, with places in our text. Internal to the
// layer.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "projection/model_parser.hpp"

namespace viewgate::projection {

/// Collects problems; a byte offset becomes a line and a column in characters.
class Problems {
 public:
  explicit Problems(std::string_view text) : text_(text) {}

  void add(std::size_t offset, std::string message);
  [[nodiscard]] Problem make(std::size_t offset, std::string message) const;
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::size_t size() const { return problems_.size(); }
  /// Sorted by place.
  [[nodiscard]] std::vector<Problem> take();

 private:
  std::string_view text_;
  std::vector<Problem> problems_;
};

/// The offset of the first character at or behind `at` that is neither blank nor in a comment.
[[nodiscard]] std::size_t skip_comments(std::string_view text, std::size_t at);

/// A node of the parse tree: its type's name and its members. Empty type: no node.
struct Node {
  std::string_view type;
  const boost::json::object* members = nullptr;

  explicit operator bool() const { return members != nullptr; }
  [[nodiscard]] const boost::json::value* find(std::string_view member) const;
  [[nodiscard]] Node node(std::string_view member) const;   ///< {"member":{"Type":{…}}}
  [[nodiscard]] Node plain(std::string_view member) const;  ///< {"member":{…}}: a node without its type's name
  [[nodiscard]] std::vector<Node> list(std::string_view member) const;
  [[nodiscard]] std::string text(std::string_view member) const;  ///< empty where absent
  [[nodiscard]] bool flag(std::string_view member) const;
  [[nodiscard]] std::vector<std::string> strings(std::string_view member) const;  ///< a list of String nodes
};

/// One statement. `start` is the offset of its first word; a node's location counts from `base`.
struct Statement {
  std::size_t start = 0;
  std::size_t base = 0;
  boost::json::value tree;

  [[nodiscard]] Node node() const;
  /// Of the node in the whole text; a node without a location is at the statement's start.
  [[nodiscard]] std::size_t place(const Node& node) const;
};

/// Statements that parse; the others are problems, each at its own place.
[[nodiscard]] std::vector<Statement> parse_statements(std::string_view text, Problems& problems);

}  // namespace viewgate::projection
