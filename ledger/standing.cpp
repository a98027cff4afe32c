#include "ledger/standing.hpp"

namespace viewgate::ledger {
namespace {

constexpr const char* kStandings =
    "select coalesce(s.head, 0), coalesce(s.head_stamp, 0), coalesce(s.retained_from, 1), "
    "viewgate.position_stamp(w.space, w.sequence), coalesce(s.erased_through, 0) "
    "from unnest($1::text[], $2::bigint[]) with ordinality as w(space, sequence, place) "
    "left join viewgate.spaces s on s.space = viewgate.space_key(w.space) order by w.place";

Standing standing_of(const pg::Row& row, Position position) {
  Standing out;
  out.head = Position{Sequence{row.integer(0)}, Stamp{static_cast<std::uint64_t>(row.integer(1))}};
  out.erased_through = Sequence{row.integer(4)};
  const std::int64_t retained_from = row.integer(2);
  const Stamp stamp{static_cast<std::uint64_t>(row.optional_integer(3).value_or(0))};
  if (position.sequence.value + 1 < retained_from) {
    out.broken = errc::history_unavailable;
  } else if (position.sequence > out.head.sequence || stamp != position.stamp) {
    out.broken = errc::history_diverged;
  } else if (position.sequence < out.erased_through) {
    out.broken = errc::history_erased;
  }
  return out;
}

}  // namespace

pg::Task<std::vector<Standing>> standings(pg::Connection& connection, std::vector<std::string> spaces,
                                          std::vector<Position> positions, std::chrono::milliseconds time_max) {
  std::vector<std::int64_t> sequences;
  sequences.reserve(positions.size());
  for (const Position& position : positions) sequences.push_back(position.sequence.value);
  pg::Params params;
  params.emplace_back(pg::array_text(spaces));
  params.emplace_back(pg::array_text(sequences));
  std::string sql = kStandings;
  auto rows = co_await connection.exec(std::move(sql), std::move(params), time_max);
  if (!rows) co_return rows.error();
  std::vector<Standing> out;
  out.reserve(positions.size());
  for (int i = 0; i < rows->size(); ++i) {
    out.push_back(standing_of((*rows)[i], positions[static_cast<std::size_t>(i)]));
  }
  co_return out;
}

Error broken_error(errc why, const std::string& space, Position position, Position head) {
  const std::string where = "space '" + space + "' at sequence " + std::to_string(position.sequence.value);
  const std::string end = std::to_string(head.sequence.value);
  switch (why) {
    case errc::history_unavailable:
      return Error{why, "", where + ": the commits that follow were pruned; head is " + end};
    case errc::history_diverged:
      return Error{why, "",
                   where + ": the ledger has another commit there, or none (restored or failed over?); head is " + end};
    case errc::history_erased:
      return Error{why, "", where + ": values of commits that follow were erased; head is " + end};
    default:
      return Error{errc::log_corrupt, "", where + ": the commits that follow are not contiguous; head is " + end};
  }
}

}  // namespace viewgate::ledger
