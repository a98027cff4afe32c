// Goal: the cost of a change grows with the groups that it may touch, and no group that it touches is passed over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "projection/access_path.hpp"
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
                                      {"n is null", R"({"id": 1, "n": 3})", false, 0},
                                      {"n is null", R"({"id": 1, "n": null})", true, 0},
                                      {"n + 1 is null", R"({"id": 1, "n": 3})", true, 1},
                                      {"n is not null", R"({"id": 1, "n": null})", true, 1},
                                      {"n is not distinct from 3", R"({"id": 1, "n": 4})", false, 0},
                                      {"n is not distinct from 3", R"({"id": 1, "n": 3})", true, 0},
                                      {"not (n = 3)", R"({"id": 1, "n": 3})", true, 1},
                                      {"n <> 3", R"({"id": 1, "n": 3})", true, 1},
                                      {"n = 3 or n = 4", R"({"id": 1, "n": 5})", false, 0},
                                      {"n = 3 or owner = 'a'", R"({"id": 1, "n": 5, "owner": "a"})", true, 0},
                                      {"n = 3 or owner = 'a'", R"({"id": 1, "n": 5, "owner": "b"})", false, 0},
                                      {"n = 3 or owner is null", R"({"id": 1, "n": 5})", true, 0},
                                      {"n = 3 or owner is null", R"({"id": 1, "n": 5, "owner": "a"})", false, 0},
                                      {"n between 2 and 4", R"({"id": 1, "n": 4})", true, 0},
                                      {"n between 2 and 4", R"({"id": 1, "n": 5})", false, 0},
                                      {"n > 2 and n < 4", R"({"id": 1, "n": 2})", false, 0},
                                      {"n < 2 or n > 4 or owner = 'a'", R"({"id": 1, "n": 3, "owner": "a"})", true, 0},
                                      {"n < null", R"({"id": 1, "n": 3})", false, 0},
                                      {"owner = 'a' and n > 2", R"({"id": 1, "n": 1, "owner": "a"})", true, 0},
                                      {"n > 3", R"({"id": 1, "n": 1})", false, 0},
                                      {"10 / n > 3", R"({"id": 1, "n": 0})", true, 1}}) {
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

TEST(Index, the_value_of_the_caller_is_chosen_before_one_that_all_groups_have) {
  const ModelPtr model = model_where("id int primary key, a text, zone text, n int", "id",
                                     "a = 'open' and n > params.n and zone = params.zone");
  GroupIndex index;
  for (int i = 0; i < 100; ++i) {
    const std::string params = R"({"n": 5, "zone": "z)" + std::to_string(i) + "\"}";
    index.add(projection::bind(*model, "v", params, "{}", "s1").value().group);
  }
  const CollectionIndex& collection = index.find("s1", "r")->front();
  const auto record = Record::parse(collection.table().layout, R"({"a": "open", "n": 9, "id": 1, "zone": "z7"})");
  std::vector<const GroupPtr*> found;
  collection.candidates(nullptr, &*record, found);
  EXPECT_EQ(found.size(), 1U);
}

TEST(Index, groups_of_one_form_share_their_shape_and_can_be_put_together_again) {
  const ModelPtr model =
      model_where("id int primary key, a text, n int", "id", "a = claims.sub and n in (1, 2, params.n)");
  const RecordLayout& layout = model->view("v")->table->layout;
  const auto predicate_of = [&model](const char* sub, int n) {
    return projection::bind(*model, "v", "{\"n\":" + std::to_string(n) + "}", std::string("{\"sub\":\"") + sub + "\"}",
                            "s1")
        .value()
        .group->predicate();
  };
  const auto bytes_of = [&layout](const Expression& expression) {
    std::string out;
    append_canonical(out, expression, layout);
    return out;
  };
  ShapeTable shapes;
  const Shaped ann = shapes.split(predicate_of("ann", 7), layout);
  const Shaped bob = shapes.split(predicate_of("bob", 9), layout);
  EXPECT_EQ(ann.shape, bob.shape);
  EXPECT_EQ(ann.values.size(), 2U) << "the name, and the list that the parameter is in";
  EXPECT_EQ(bytes_of(fill(*ann.shape, ann.values)), bytes_of(predicate_of("ann", 7)));
  EXPECT_NE(bytes_of(fill(*bob.shape, bob.values)), bytes_of(predicate_of("ann", 7)));
}

struct Filter {
  const char* condition;
  bool exact =
      true;  ///< else others may be asked, too: what is the same for all groups is not joined to what is the caller's
};

// Against asking every group, while groups come and go. Values are few, so that many groups share each of them.
void expect_those_inside(const Filter& filter) {
  const std::string condition = filter.condition;
  SCOPED_TRACE(condition);
  const ModelPtr model = model_where("id int primary key, a int, b int, n int, p boolean", "id", condition);
  std::mt19937_64 random(7);
  const auto below = [&random](std::uint64_t count) {
    return random() % 6 == 0 ? std::string("null") : std::to_string(random() % count);
  };
  GroupIndex index;
  std::vector<GroupPtr> groups;
  std::size_t touched = 0;
  for (int step = 0; step < 2000; ++step) {
    if (!groups.empty() && random() % 3 == 0) {
      const auto at = static_cast<std::ptrdiff_t>(random() % groups.size());
      EXPECT_TRUE(index.remove(groups[static_cast<std::size_t>(at)]->id()));
      groups.erase(groups.begin() + at);
    } else {
      std::string params;
      for (const std::string name : {"a", "other", "b", "low", "high"}) {
        if (condition.find("params." + name) == std::string::npos) continue;
        params.append(params.empty() ? "{\"" : ", \"").append(name).append("\": ");
        params.append(below(name == "low" || name == "high" ? 50 : 5));
      }
      params += '}';
      GroupPtr group = projection::bind(*model, "v", params, "{}", "s1").value().group;
      if (index.add(group)) groups.push_back(std::move(group));
    }
    if (groups.empty()) continue;
    const CollectionIndex& collection = index.find("s1", "r")->front();
    const auto text = [&] {
      return R"({"a": )" + below(5) + R"(, "b": )" + below(5) + R"(, "n": )" + below(52) + R"(, "p": )" +
             (random() % 3 == 0   ? "null"
              : random() % 2 == 0 ? "true"
                                  : "false") +
             R"(, "id": 1})";
    };
    const std::string texts[] = {text(), text()};
    const Record before = Record::parse(collection.table().layout, texts[0]).value();
    const Record after = Record::parse(collection.table().layout, texts[1]).value();
    const bool is_deleted = step % 4 == 0;
    std::vector<const GroupPtr*> found;
    collection.candidates(&before, is_deleted ? nullptr : &after, found);
    std::set<const Group*> asked;
    for (const GroupPtr* each : found) EXPECT_TRUE(asked.insert(each->get()).second) << "twice";
    std::size_t inside = 0;
    for (const GroupPtr& each : groups) {
      if (!each->includes(before) && (is_deleted || !each->includes(after))) continue;
      ++inside;
      ASSERT_TRUE(asked.contains(each.get())) << "passed over at step " << step << ": " << texts[0] << texts[1];
    }
    if (filter.exact) {
      ASSERT_EQ(asked.size(), inside) << "step " << step << ": " << texts[0] << texts[1];
    }
    touched += inside;
  }
  EXPECT_GT(touched, 100U) << "nothing was looked for";
  for (const GroupPtr& each : groups) index.remove(each->id());
  EXPECT_EQ(index.find("s1", "r"), nullptr);
}

TEST(Index, the_groups_that_a_change_touches_are_found_and_no_others) {
  for (const Filter& filter : std::initializer_list<Filter>{
           {"(n >= params.low or params.low is null) and (n < params.high or params.high is null)"},
           {"a = params.a and b = params.b"},
           {"a = params.a and n between params.low and params.high"},
           {"n > params.low and b = params.b and a = params.a"},
           {"a in (params.a, params.other) and b in (params.b, 4) and n <= params.high"},
           {"a = params.a and (b = params.b or n > params.low)"},
           {"a = params.a and (b = params.b or b is null)", false},
           {"(a = params.a or b = params.a) and n < params.high and (b = params.b or a = params.other)", false},
           {"a in (params.a, params.other) and (a = params.b or b = params.b) and n > params.low"},
           {"a = params.a or a is null"},
           {"a = params.a or p"},
           {"a = params.a and n > params.low or not p and b = params.b", false},
           {"a = params.a and (p is not true or b is not distinct from params.b)"},
           {"a is not distinct from params.a and p is false", false},
           {"p is unknown or p is not false and b = params.b", false},
           {"coalesce(a, params.a) = params.other and b = params.b", false},
           {"(a = params.a and n < params.high) or (b = params.b and n > params.low)"},
           {"(a = params.a and n < params.high) or (a = params.other and n > params.low)"},
           {"a % 3 = params.a and n >= params.low"},
           {"10 / a = params.a and b = params.b", false},
           {"a = params.a and b between 1 and 3 and n >= params.low", false},
       })
    expect_those_inside(filter);
}

TEST(Index, a_range_of_the_caller_is_chosen_before_one_that_all_groups_have) {
  const ModelPtr model = model_where("id int primary key, a int, b int, n int", "id",
                                     "a = params.a and b between 1 and 3 and n >= params.low");
  GroupIndex index;
  for (int i = 0; i < 100; ++i) {
    const std::string params = R"({"a": 1, "low": )" + std::to_string(i) + "}";
    index.add(projection::bind(*model, "v", params, "{}", "s1").value().group);
  }
  const CollectionIndex& collection = index.find("s1", "r")->front();
  const auto record = Record::parse(collection.table().layout, R"({"a": 1, "b": 2, "n": 4, "id": 1})");
  std::vector<const GroupPtr*> found;
  collection.candidates(nullptr, &*record, found);
  EXPECT_EQ(found.size(), 5U);
}

/// Keys of small integers are small integers: two of them together must not be.
TEST(Index, values_side_by_side_have_a_place_of_their_own) {
  std::set<std::uint64_t> places;
  for (std::int64_t a = 0; a < 300; ++a) {
    for (std::int64_t b = 0; b < 300; ++b) places.insert(joined_key(index_key(Value(a)), index_key(Value(b))));
  }
  EXPECT_EQ(places.size(), 90'000U);
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
