// What the tailer sees of commits that have no number yet: as long as another session holds their space's row, looks pass them over,
// and no head tells of them.
#include <map>

#include "ledger/tailer_runner.hpp"

namespace viewgate::ledger {
namespace {

/// Between two questions while something is passed over.
constexpr std::chrono::milliseconds kInterval{200};

// What a complete look has passed is numbered; before the first one everything may wait.
constexpr const char* kOldest = R"(
select distinct on (w.name) w.name, w.part
from (select name, part, txid from viewgate.waiting
      where txid >= coalesce(pg_snapshot_xmin($1::pg_snapshot), '0'::xid8) order by txid limit 10000) w
order by w.name, w.txid)";

}  // namespace

pg::Task<void> Tailer::Runner::see_waiting() {
  const auto now = PlanClock::now();
  if (!last_look_skipped_) {
    watchlist_.note_waiting({}, now);
    co_return Result<void>();
  }
  if (now < see_waiting_at_) co_return Result<void>();
  see_waiting_at_ = now + kInterval;
  std::string sql = kOldest;
  pg::Params params(1, previous_);
  auto rows = co_await look_.exec_prepared(std::move(sql), std::move(params), options_.time_max);
  if (!rows) co_return rows.error();
  std::map<std::string, std::int64_t> oldest;
  for (int i = 0; i < rows->size(); ++i) oldest.emplace((*rows)[i].string(0), (*rows)[i].integer(1));
  watchlist_.note_waiting(oldest, PlanClock::now());
  co_return Result<void>();
}

}  // namespace viewgate::ledger
