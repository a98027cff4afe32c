#include "ledger/revocation_watch.hpp"

#include <boost/asio/io_context.hpp>

#include "ledger/rounds.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;

// One row per revocation above the last id known, and one that says which ids there are: ids below it after a restore of
// the database would be given again, and then everything is read anew. An end that lies beyond all tokens' is as good as any
// other such, and has a number also where somebody wrote infinity.
constexpr const char* kNews =
    "select id, coalesce(issuer, ''), coalesce(principal, ''), coalesce(token_id, ''), "
    "ceil(extract(epoch from revoked))::bigint, "
    "ceil(extract(epoch from least(until, timestamptz '2200-01-01 00:00:00Z')))::bigint "
    "from viewgate.revocations where id > $1 and until > now() "
    "union all select -coalesce(max(id), 0), '', '', '', 0, 0 from viewgate.revocations";

std::chrono::sys_seconds time_of(std::int64_t epoch) { return std::chrono::sys_seconds{std::chrono::seconds{epoch}}; }

}  // namespace

class RevocationWatch::Runner final : public Rounds {
 public:
  Runner(asio::io_context& io, std::string conninfo, RevocationWatchOptions options)
      : Rounds(io.get_executor(), pg::connect_options(std::move(conninfo), "viewgate revocations", options.time_max)),
        options_(options) {}

  void start(OnRevoked on_revoked) {
    on_revoked_ = std::move(on_revoked);
    Rounds::start();
  }

 private:
  /// It may be to a database that was restored, and has given ids again.
  void on_connected() override { last_id_ = 0; }

  pg::Task<void> turn() override {
    pg::Params params;
    params.emplace_back(std::to_string(last_id_));
    auto rows = co_await connection().exec(kNews, std::move(params), options_.time_max);
    if (!rows) co_return rows.error();
    take(*rows);
    co_return Result<void>();
  }

  Clock::time_point next_turn(const Result<void>&) override { return Clock::now() + options_.interval; }

  void take(const pg::Rows& rows) {
    std::vector<Revocation> found;
    std::int64_t newest = 0;
    for (int i = 0; i < rows.size(); ++i) {
      const pg::Row row = rows[i];
      if (row.integer(0) <= 0) {
        newest = -row.integer(0);
        continue;
      }
      found.push_back(
          Revocation{row.string(1), row.string(2), row.string(3), time_of(row.integer(4)), time_of(row.integer(5))});
    }
    // Lower than before: the newest have expired, or the database is another one. What is there is read once more.
    const bool went_back = newest < last_id_;
    last_id_ = went_back ? 0 : newest;
    if (stopped() || went_back) return;
    if (!std::exchange(told_, true) || !found.empty()) on_revoked_(std::move(found));
  }

  const RevocationWatchOptions options_;
  OnRevoked on_revoked_;
  std::int64_t last_id_ = 0;
  bool told_ = false;
};

RevocationWatch::RevocationWatch(asio::io_context& io, std::string conninfo, RevocationWatchOptions options)
    : runner_(std::make_shared<Runner>(io, std::move(conninfo), options)) {}

RevocationWatch::~RevocationWatch() { stop(); }

void RevocationWatch::start(OnRevoked on_revoked) { runner_->start(std::move(on_revoked)); }

void RevocationWatch::stop() { runner_->stop(); }

}  // namespace viewgate::ledger
