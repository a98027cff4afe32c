#include <algorithm>

#include "projection/model_parser.hpp"
#include "projection/syntax.hpp"

namespace viewgate::projection {
namespace {

/// The statements of a text by the offsets where they begin; a statement ends where the next one begins.
class Statements {
 public:
  explicit Statements(const std::string& text) : text_(text), ignored_(text) {
    all_ = parse_statements(text, ignored_);
    std::ranges::sort(all_, {}, &Statement::start);
  }

  /// The statement that a problem lies in; null where that did not even parse.
  [[nodiscard]] const Statement* at(const Problem& problem) const {
    const auto next = std::ranges::upper_bound(all_, offset_of(problem), {}, &Statement::start);
    return next == all_.begin() ? nullptr : &*std::prev(next);
  }

  /// The table or view that this name is declared as.
  [[nodiscard]] const Statement* declaring(const std::string& name) const {
    const auto found = std::ranges::find_if(all_, [&](const Statement& each) { return declared_name(each) == name; });
    return found == all_.end() ? nullptr : &*found;
  }

  static std::string declared_name(const Statement& statement) {
    const Node node = statement.node();
    if (node.type == "ViewStmt") return node.plain("view").text("relname");
    if (node.type == "CreateStmt") return node.plain("relation").text("relname");
    return {};
  }

  /// Blanks it: what is left keeps its places.
  void erase(const Statement& statement, std::string& text) const {
    const auto next = std::ranges::upper_bound(all_, statement.start, {}, &Statement::start);
    const std::size_t end = next == all_.end() ? text.size() : next->start;
    for (std::size_t i = statement.start; i < end; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  }

 private:
  /// Columns count characters, of which every byte but a continuation byte begins one.
  [[nodiscard]] std::size_t offset_of(const Problem& problem) const {
    std::size_t at = 0;
    for (int line = 1; line < problem.line && at < text_.size(); ++line) at = text_.find('\n', at) + 1;
    for (int column = 1; column < problem.column && at < text_.size(); ++at) {
      if (at + 1 < text_.size() && (static_cast<unsigned char>(text_[at + 1]) & 0xC0U) != 0x80U) ++column;
    }
    return at;
  }

  const std::string& text_;
  Problems ignored_;
  std::vector<Statement> all_;
};

}  // namespace

PartialModel parse_what_holds(std::string_view text, const Catalog& catalog) {
  PartialModel out;
  std::string rest(text);
  while (true) {
    ParsedModel parsed = parse_model(rest, catalog);
    if (parsed.model) {
      out.model = std::move(parsed.model);
      return out;
    }
    const std::string before = rest;
    const Statements statements(before);
    for (Problem& problem : parsed.problems) {
      const Statement* statement = statements.at(problem);
      out.problems.push_back(std::move(problem));
      if (statement == nullptr) return out;
      // A policy narrows what its view or table shows: without it that would show more.
      const Node node = statement->node();
      const std::string guarded = node.type == "CreatePolicyStmt" ? node.plain("table").text("relname") : "";
      for (const Statement* each : {statement, guarded.empty() ? nullptr : statements.declaring(guarded)}) {
        if (each == nullptr) continue;
        if (each->node().type == "ViewStmt") out.left_out.insert(Statements::declared_name(*each));
        statements.erase(*each, rest);
      }
    }
    if (rest == before) return out;
  }
}

}  // namespace viewgate::projection
