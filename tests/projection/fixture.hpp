// What the tests of projection share: the model of the demo, a catalog for it, and short ways to parse, bind and make
// changes.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/commit.hpp"
#include "projection/binding.hpp"
#include "projection/model_parser.hpp"
#include "projection/projector.hpp"

namespace viewgate::testing {

/// public.pgbench_accounts as the gateway finds it in the database, and a table with a column of each type.
[[nodiscard]] projection::Catalog demo_catalog();

/// The model of the demo and of the proof.
inline constexpr std::string_view demo_model = R"(
create table accounts (like public.pgbench_accounts) with (space = 'bid');
create view overdrawn as select aid, bid, abalance from accounts where abalance < 0;
create view watch as select aid, abalance from accounts
  where abalance between params.low and params.high and aid % 10 = claims.digit::int;
create policy everyone on overdrawn using (true);
create policy tellers on watch using (claims.sub is not null);
)";

/// The parsed model; throws with all problems where there are some.
[[nodiscard]] projection::ModelPtr parse_or_throw(std::string_view text,
                                                  const projection::Catalog& catalog = demo_catalog());

/// Problems of the text, one line each, as "line:column: message".
[[nodiscard]] std::string problems_of(std::string_view text, const projection::Catalog& catalog = demo_catalog());

/// A managed collection `r` with the given columns, and a view `v` over all of them where `condition`; everybody is
/// admitted.
[[nodiscard]] projection::ModelPtr model_where(std::string_view columns, std::string_view select,
                                               std::string_view condition);

/// A group of that view in space "s1".
[[nodiscard]] projection::GroupPtr group_where(std::string_view columns, std::string_view select,
                                               std::string_view condition, std::string_view params = "{}",
                                               std::string_view claims = "{}");

/// Whether the record is inside; nothing: evaluating it was an error.
[[nodiscard]] std::optional<bool> decide(const projection::Group& group, std::string_view record);

struct Make {
  static ledger::Change created(std::string collection, std::string key, std::string after);
  static ledger::Change updated(std::string collection, std::string key, std::string before, std::string after);
  static ledger::Change deleted(std::string collection, std::string key, std::string before);
  static ledger::Change moved(std::string collection, std::string key, std::string before);
  /// One part that is a whole commit.
  static ledger::CommitPart part(std::string space, std::int64_t sequence, std::vector<ledger::Change> changes);
};

/// The events of the only group that the part touches; "" where it touches none.
[[nodiscard]] std::string events_of(projection::Projector& projector, const ledger::CommitPart& part);

}  // namespace viewgate::testing
