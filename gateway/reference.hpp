// The tables of docs/operating.md, made of the program's own: configuration, exit statuses, close codes, errors, reset reasons and
// metrics. `viewgate reference FILE` prints the document as it should be, and a test compares it with the one in the tree.
#pragma once

#include <string>
#include <string_view>

namespace viewgate::gateway {

/// Every table under a heading of its own, in Markdown.
[[nodiscard]] std::string reference_text();

/// The document with every table between its marks, `<!-- table: NAME -->` and `<!-- end -->`, made anew. Throws
/// std::invalid_argument: a table that there is not, or a mark without its end.
[[nodiscard]] std::string with_tables(std::string_view document);

}  // namespace viewgate::gateway
