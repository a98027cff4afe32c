// Goal: the cost of a change grows with the groups that it may touch, and no group that it touches is passed over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "projection/fixture.hpp"
#include "projection/group_index.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ::testing::IsEmpty;

TEST(Index, groups_that_a_change_cannot_touch_are_not_asked) {
  const ModelPtr model = model_where("id int primary key, owner text, n int, amount numeric", "id",
                                     "(owner = claims.sub and n > 0) or false");
  GroupIndex index;
  for (int i = 0; i < 1000; ++i) {
    index.add(projection::bind(*model, "v", "{}", "{\"sub\":\"user" + std::to_string(i) + "\"}", "s1").value().group);
  }
  const CollectionIndex& collection = index.find("s1", "r")->front();
  EXPECT_EQ(collection.size(), 1000U);
  EXPECT_EQ(collection.residual(), 0U);
  const auto cut = [&](const char* text) { return Record::parse(collection.table().layout, text).value(); };
  const Record five = cut(R"({"id": 1, "owner": "user5"})");
  const Record seven = cut(R"({"id": 1, "owner": "user7"})");
  const Record nobody = cut(R"({"id": 1, "owner": null})");
  std::vector<const GroupPtr*> found;
  collection.candidates(&five, &seven, found);
  EXPECT_EQ(found.size(), 2U);
  found.clear();
  collection.candidates(nullptr, &nobody, found);
  EXPECT_THAT(found, IsEmpty()) << "NULL is never indexed";
}

struct Indexed {
  const char* condition;
  const char* record;
  bool found;
  std::size_t residual;
};

TEST(Index, values_are_found_by_the_equality_of_their_type) {
  for (const Indexed& each :
       std::initializer_list<Indexed>{{"amount = 1.00", R"({"id": 1, "amount": 1.0})", true, 0},
                                      {"amount = 0", R"({"id": 1, "amount": -0.0})", true, 0},
                                      {"n = 2.0", R"({"id": 1, "n": 2})", true, 0},
                                      {"n = 2.5", R"({"id": 1, "n": 2})", false, 0},
                                      {"n in (1, 2, 3)", R"({"id": 1, "n": 2})", true, 0},
                                      {"n in (1, 2, null)", R"({"id": 1, "n": 3})", false, 0},
                                      {"n % 10 = 3", R"({"id": 1, "n": 13})", true, 0},
                                      {"n % 10 = 3", R"({"id": 1, "n": 14})", false, 0},
                                      {"n = null", R"({"id": 1, "n": 14})", false, 0},
                                      {"3 = n and amount > 5", R"({"id": 1, "n": 3})", true, 0},
                                      {"n is null", R"({"id": 1, "n": 3})", true, 1},
                                      {"n is not distinct from 3", R"({"id": 1, "n": 4})", true, 1},
                                      {"not (n = 3)", R"({"id": 1, "n": 3})", true, 1},
                                      {"n <> 3", R"({"id": 1, "n": 3})", true, 1},
                                      {"n = 3 or n = 4", R"({"id": 1, "n": 5})", true, 1},
                                      {"n > 3", R"({"id": 1, "n": 1})", true, 1}}) {
    GroupIndex index;
    const GroupPtr group = group_where("id int primary key, owner text, n int, amount numeric", "id", each.condition);
    EXPECT_TRUE(index.add(group));
    EXPECT_FALSE(index.add(group));
    const CollectionIndex& collection = index.find("s1", "r")->front();
    EXPECT_EQ(collection.residual(), each.residual) << each.condition;
    const auto record = Record::parse(collection.table().layout, each.record);
    std::vector<const GroupPtr*> found;
    collection.candidates(nullptr, &*record, found);
    EXPECT_EQ(!found.empty(), each.found) << each.condition << " " << each.record;
    EXPECT_TRUE(index.remove(group->id()));
    EXPECT_FALSE(index.remove(group->id()));
    EXPECT_EQ(index.find("s1", "r"), nullptr);
  }
}

TEST(Index, a_group_under_both_values_is_asked_once) {
  GroupIndex index;
  const GroupPtr group = group_where("id int primary key, a int", "id", "a in (1, 2)");
  index.add(group);
  const CollectionIndex& collection = index.find("s1", "r")->front();
  const auto before = Record::parse(collection.table().layout, R"({"a": 1, "id": 1})");
  const auto after = Record::parse(collection.table().layout, R"({"a": 2, "id": 1})");
  std::vector<const GroupPtr*> found;
  collection.candidates(&*before, &*after, found);
  EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace viewgate::testing
