// Goal: the types that `viewgate types` writes are those of the model, byte for byte as in tests/golden/typescript, and those of the
// demo are in the demo. That TypeScript takes them, and that the client means the same by them, is shown by tests/client.
#include "projection/typescript.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "projection/fixture.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

using projection::NumberForm;

std::string text_of_file(const std::string& path) {
  std::ifstream file(VIEWGATE_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::string types_of(const std::string& path, NumberForm numbers) {
  return projection::typescript(*parse_or_throw(text_of_file(path)), numbers);
}

TEST(Typescript, views_params_and_mutations_have_the_types_of_the_model) {
  const std::string model = "tests/golden/typescript/model.sql";
  EXPECT_EQ(types_of(model, NumberForm::json), text_of_file("tests/golden/typescript/json.ts"));
  EXPECT_EQ(types_of(model, NumberForm::lossless), text_of_file("tests/golden/typescript/lossless.ts"));
  EXPECT_EQ(types_of(model, NumberForm::exact), text_of_file("tests/golden/typescript/exact.ts"));
}

TEST(Typescript, the_demo_has_the_types_of_its_model) {
  EXPECT_EQ(types_of("demo/model.sql", NumberForm::json), text_of_file("demo/model.ts"))
      << "make it anew: viewgate types demo/model.sql --output demo/model.ts";
}

TEST(Typescript, a_model_of_nothing_is_a_module_all_the_same) {
  const std::string types = projection::typescript(projection::Model{}, NumberForm::exact);
  EXPECT_NE(types.find("readonly views: {\n  };"), std::string::npos);
  EXPECT_EQ(types.find("columns("), std::string::npos);
}

TEST(Typescript, a_column_that_may_not_be_null_is_never_null) {
  projection::Catalog catalog = demo_catalog();
  for (auto& column : catalog.tables.front().columns) column.not_null = column.name == "abalance";
  const auto model = parse_or_throw(demo_model, catalog);
  const std::string types = projection::typescript(*model, NumberForm::json);
  EXPECT_NE(types.find("readonly abalance: number;"), std::string::npos);
  EXPECT_NE(types.find("readonly bid: number | null;"), std::string::npos);
}

}  // namespace
}  // namespace viewgate::testing
