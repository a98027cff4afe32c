#include "support/line.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace viewgate::testing {

const char* const items_table = R"(
create sequence items_id start 1000000000;
create table public.items (space text, id int8 primary key, owner text, status text, n numeric, x text, a int4, b int4, j jsonb)
)";

const char* const items_model = R"(
create table items (like public.items) with (space = 'space');

create view open as select id, owner, status, n from items where status = 'open';
create view mine as select id, owner, status from items where owner = claims.sub;
create view either as select id, a, b from items where a = 1 or b = 1;
create view between_n as select id, n from items where n between params.low and params.high;
create view below as select id, n from items where n < claims.ceiling::numeric;
create view named as select id, x from items where x = params.name;
create view walled as select id, n from items where id >= 0;
create view everything as select id, owner, status, n, x, a, b, j from items where id >= 0;

create view unlike_a as select id, x from items where x <> 'a';
create view not_a as select id, x from items where not (x = 'a');
create view distinct_from_a as select id, x from items where x is distinct from 'a';
create view not_in_null as select id, x from items where a not in (2, null);

create policy readers on open using (claims.role = 'reader');
create policy readers on mine using (claims.role = 'reader');
create policy readers on either using (claims.role = 'reader');
create policy readers on between_n using (claims.role = 'reader');
create policy readers on below using (claims.role = 'reader');
create policy readers on named using (claims.role = 'reader');
create policy members on walled using (space.name = any(claims.spaces));
create policy readers on everything using (claims.role = 'reader');
create policy readers on unlike_a using (claims.role = 'reader');
create policy readers on not_a using (claims.role = 'reader');
create policy readers on distinct_from_a using (claims.role = 'reader');
create policy readers on not_in_null using (claims.role = 'reader');

create table notes (id int8 primary key, title text not null, body text, owner text, amount numeric, doc jsonb, uid uuid,
                    at timestamptz, starts date, ends date)
  with (conflict_group_schedule = 'starts, ends', conflict_group_body = 'body');
create table labels (name text primary key, colour text not null);
create view all_notes as select id, title, body, owner, amount, doc, uid, at, starts, ends from notes;
create view my_notes as select id, title from notes where owner = claims.sub;
create view all_labels as select name, colour from labels;
create policy readers on all_notes using (claims.role = 'reader');
create policy readers on my_notes using (claims.role = 'reader');
create policy readers on all_labels using (claims.role = 'reader');
create policy add on notes for insert with check (claims.role = 'reader' and owner = claims.sub);
create policy change on notes for update using (claims.role = 'reader' and (owner = claims.sub or title = 'open to all'))
  with check (title <> 'never');
create policy removal on notes for delete using (claims.role = 'reader' and owner = claims.sub);
create policy everything on labels using (claims.role = 'reader');
)";

std::vector<std::string> quick_deadlines(std::chrono::milliseconds honest) {
  const std::string for_the_honest = patient_flag(honest);
  return {"--time-hello", for_the_honest, "--time-handshake", for_the_honest, "--time-message", for_the_honest,
          "--time-close", "200ms",        "--time-progress",  "100ms",        "--time-retry",   "100ms",
          "--time-drain", "500ms",        "--snapshot-reuse", "0s",           "--threads",      "2"};
}

Finished apply_model(const std::string& text, const std::string& database) {
  const std::string file = temporary_path("model.sql");
  std::ofstream(file) << text;
  Finished out = run({program("viewgate"), "model", "apply", file, "--database", database});
  std::filesystem::remove(file);
  return out;
}

Line::Line(PostgresCluster& cluster, LineOptions options)
    : cluster_(&cluster),
      options_(std::move(options)),
      database_(cluster.create_empty_database()),
      session_(database_) {
  sql(options_.tables);
  const Finished applied = apply_model(options_.model, database_);
  if (applied.status != 0) throw std::runtime_error("viewgate model apply: " + applied.output);
  gateway_ = std::make_unique<GatewayProcess>(gateway_options());
}

PostgresCluster& durable_cluster() {
  static PostgresCluster cluster({.durability = ledger::Durability::durable});
  return cluster;
}

Line& Line::shared() {
  static Line line(durable_cluster());
  return line;
}

std::chrono::milliseconds Line::serve_a_good_client(std::uint16_t port, const std::string& token) {
  const std::string space = new_space();
  // A connection of its own: the test may have left the other one in a transaction.
  PgSession writer(database_);
  WsClient client(port, token.empty() ? reader("good") : token);
  EXPECT_EQ(client.open({.space = space}).records.size(), 0U);
  writer.query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
  const auto committed = std::chrono::steady_clock::now();
  const Document commit = client.next_of("commit");
  EXPECT_NE(commit.text.find("\"entered\""), std::string::npos) << "a good client was told: " << commit.text;
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - committed);
}

GatewayOptions Line::gateway_options() {
  GatewayOptions out;
  out.database = database_;
  out.flags = options_.flags;
  out.environment = options_.environment;
  // Those of other tables have other clients.
  if (options_.tables == items_table && options_.model == items_model) {
    out.good_client = [this](std::uint16_t port) { return serve_a_good_client(port); };
  }
  return out;
}

std::int64_t Line::settled_head(const std::string& space) {
  const bool settled = eventually(
      [&] { return value("select exists (select from viewgate.waiting where space = $1)", {space}) == "f"; });
  if (!settled) throw std::runtime_error("changes of " + space + " still wait for their numbers");
  return std::stoll(value("select viewgate.watermark($1)", {space}));
}

const std::string& Line::reader(const std::string& subject) {
  std::string& out = tokens_[subject];
  if (out.empty()) out = token(subject, {"role=reader"});
  return out;
}

}  // namespace viewgate::testing
