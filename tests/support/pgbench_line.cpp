#include "support/pgbench_line.hpp"

#include <stdexcept>

#include "support/gateway_process.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {

namespace {

/// What pgbench -I g would do, but with balances that cross zero: an account's balance moves by up to 5000 a time.
constexpr const char* fill = R"(
  select setseed(0.5);
  insert into pgbench_branches (bid, bbalance) select bid, 0 from generate_series(1, 10) bid;
  insert into pgbench_tellers (tid, bid, tbalance) select tid, (tid - 1) / 10 + 1, 0 from generate_series(1, 100) tid;
  insert into pgbench_accounts (aid, bid, abalance, filler)
    select aid, (aid - 1) / 100000 + 1, floor(random() * 10001)::int - 5000, '' from generate_series(1, 1000000) aid;
)";

void must(const std::vector<std::string>& arguments) {
  const Finished finished = run(arguments, patient(std::chrono::seconds(120)));
  if (finished.status != 0) throw std::runtime_error(arguments.front() + " failed: " + finished.output);
}

std::string name_in(const std::string& conninfo) { return PgSession(conninfo).value("select current_database()"); }

}  // namespace

PgbenchLine::PgbenchLine() {
  const std::string conninfo = cluster_.create_empty_database();
  template_name_ = name_in(conninfo);
  must({pgbench_program(), "-i", "-q", "-I", "dt", "-s", std::to_string(scale), conninfo});
  PgSession(conninfo).run(fill);
  must({pgbench_program(), "-i", "-q", "-I", "vp", "-s", std::to_string(scale), conninfo});
}

std::string PgbenchLine::create_database() {
  const std::string name = "bank_" + std::to_string(++databases_);
  PgSession(cluster_.server().conninfo("postgres")).run("create database " + name + " template " + template_name_);
  const std::string conninfo = cluster_.server().conninfo(name);
  must({program("viewgate"), "model", "apply", std::string(VIEWGATE_SOURCE_DIR) + "/demo/model.sql", "--database",
        conninfo});
  return conninfo;
}

std::unique_ptr<ChildProcess> PgbenchLine::start_pgbench(const std::string& conninfo, std::uint64_t seed) {
  ChildOptions options;
  options.arguments = {
      pgbench_program(), "-n", "-c", std::to_string(writers), "-T", "100000", "--random-seed=" + std::to_string(seed),
      conninfo};
  return std::make_unique<ChildProcess>(options);
}

}  // namespace viewgate::testing
