// Model files: every text gives a model or problems with places inside it.
#include "fuzz/fuzz.hpp"
#include "projection/model_parser.hpp"

using namespace viewgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const projection::Catalog catalog = [] {
    projection::CatalogTable table;
    table.schema = "public";
    table.name = "t";
    table.primary_key = {"id"};
    table.capture = 1;
    table.space_column = "space";
    for (const char* const type : {"text", "int4", "numeric", "timestamptz", "jsonb", "bool", "uuid"}) {
      table.columns.push_back({std::string("c_") + type, type, true});
    }
    table.columns.push_back({"id", "int8", true});
    table.columns.push_back({"space", "text", true});
    projection::Catalog out;
    out.tables.push_back(std::move(table));
    return out;
  }();
  const std::string_view text = fuzz::text_of(bytes, size);
  const auto parsed = projection::parse_model(text, catalog);
  fuzz::promise((parsed.model == nullptr) == !parsed.problems.empty(), "a model, or problems");
  for (const auto& problem : parsed.problems) {
    fuzz::promise(problem.line >= 1 && problem.column >= 1 && !problem.message.empty(), "a problem has a place");
  }
  static_cast<void>(projection::referenced_tables(text));
  return 0;
}
