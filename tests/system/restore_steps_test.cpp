// The steps of docs/operating.md after a disaster, each as it stands there: a dump is restored where no role of the nodes is known, what
// was erased is erased again, and clients that come back go on or start anew as is said.
#include <gmock/gmock.h>

#include <csignal>
#include <sstream>

#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTables = "create table public.orders (id int primary key, space text, status text)";
constexpr const char* kModel = R"(
create table orders (like public.orders) with (space = 'space');
create view paid as select id, status from orders where status = 'paid';
create table notes (id int8 primary key, title text not null);
create view all_notes as select id, title from notes;
create policy all_of_us on paid using (true);
create policy all_of_us on all_notes using (true);
)";
constexpr const char* kNode = "node_of_the_restore";

Finished viewgate(std::vector<std::string> arguments, const std::string& database) {
  arguments.insert(arguments.begin(), program("viewgate"));
  arguments.insert(arguments.end(), {"--database", database});
  return run(arguments);
}

/// A role for nodes, with what `viewgate grants` prints for it.
void let_nodes_serve(PgSession& owner, const std::string& database) {
  owner.run(std::string("create role ") + kNode + " login");
  const Finished printed = viewgate({"grants", "--role", kNode}, database);
  ASSERT_EQ(printed.status, 0) << printed.output;
  std::istringstream statements(printed.output);
  for (std::string each; std::getline(statements, each);) owner.run(each);
}

GatewayOptions node_of(const std::string& database) {
  GatewayOptions out;
  out.database = database + " user=" + kNode;
  out.flags = quick_deadlines();
  return out;
}

void append_note(PgSession& session, const std::string& space, int id, const std::string& title) {
  session.query(
      "select viewgate.append($1, jsonb_build_array(jsonb_build_object('collection', 'notes', 'key', "
      "jsonb_build_array($2::int), 'put', jsonb_build_object('id', $2::int, 'title', $3::text))))",
      {space, std::to_string(id), title});
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

/// What a client is told that comes back with this cursor: the reason for which it starts anew, then its set; nothing where it goes on.
std::string told(WsClient& client, const SubscribeText& what) {
  client.send(subscribe_text(what));
  std::string out;
  for (Document next = client.next(); next.type() != "ready"; next = client.next()) {
    if (next.text.empty()) return "nothing came";
    out += next.plain("reason") + next.raw("records");
  }
  return out;
}

TEST(RestoreSteps, a_dump_restored_elsewhere_is_served_and_clients_go_on_or_start_anew_as_the_steps_say) {
  const std::string database = durable_cluster().create_empty_database();
  const std::string restored = durable_cluster().create_empty_database();
  const std::string dump = temporary_path("restore.dump"), reader = token("ann");
  const auto programs = durable_cluster().server().programs();
  SubscribeText kept{.space = "acme", .view = "all_notes"}, lost = kept;
  SubscribeText orders{.space = "acme", .view = "paid"}, erased{.space = "erased", .view = "all_notes"};
  {
    PgSession owner(database);
    owner.run(kTables);
    ASSERT_EQ(apply_model(kModel, database).status, 0);
    let_nodes_serve(owner, database);
    GatewayProcess node(node_of(database));
    append_note(owner, "acme", 1, "kept");
    append_note(owner, "erased", 9, "secret");
    owner.run("insert into orders values (7, 'acme', 'paid')");
    WsClient client(node.port(), reader);
    const Opened opened = client.open(kept);
    kept.cursor = opened.cursor();
    orders.cursor = WsClient(node.port(), reader).open(orders).cursor();
    erased.cursor = WsClient(node.port(), reader).open(erased).cursor();
    const Finished dumped = run({programs / "pg_dump", "--format=custom", "--file=" + dump, database});
    ASSERT_EQ(dumped.status, 0) << dumped.output;
    append_note(owner, "acme", 2, "lost");
    lost.cursor = opened.context() + "." + client.next_of("commit").plain("position");
    ASSERT_EQ(viewgate({"erase", "--space", "erased", "--collection", "notes", "--key", "[9]"}, database).status, 0);

    // 1. Stop the nodes, restore, and see that the old database cannot come back.
    node.process().signal(SIGTERM);
    ASSERT_EQ(node.process().wait(patient(std::chrono::seconds(30))), 0) << node.log();
  }
  durable_cluster().drop_database(database);
  PgSession owner(restored);
  owner.run(std::string("drop role ") + kNode);
  const Finished put_back = run({programs / "pg_restore", "--no-owner", "--dbname=" + restored, dump});
  std::filesystem::remove(dump);
  EXPECT_EQ(put_back.status, 1) << "there is no such role, and nothing else is wrong";
  EXPECT_EQ(count_of(put_back.output, "pg_restore: error: "),
            count_of(put_back.output, std::string("ERROR:  role \"") + kNode + "\" does not exist"))
      << put_back.output;

  // 2. The model, and the grants of a role that is not there.
  ASSERT_EQ(apply_model(kModel, restored).status, 0);
  let_nodes_serve(owner, restored);
  // 3. The doctor, as who serves.
  const Finished doctor = viewgate({"doctor"}, restored + " user=" + kNode);
  EXPECT_EQ(doctor.status, 0) << doctor.output;
  // 4. Erase again what was erased.
  const Finished again = viewgate({"erase", "--space", "erased", "--collection", "notes", "--key", "[9]"}, restored);
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_THAT(viewgate({"log", "--space", "erased"}, restored).output, Not(HasSubstr("secret")));
  // 5. Start the nodes.
  GatewayProcess node(node_of(restored));
  WsClient goes_on(node.port(), reader), diverged(node.port(), reader), captured(node.port(), reader),
      emptied(node.port(), reader);
  EXPECT_EQ(told(goes_on, kept), "");
  EXPECT_EQ(told(diverged, lost), R"(history_diverged[{"key":[1],"record":{"id":1,"title":"kept"}}])");
  EXPECT_EQ(told(captured, orders), R"(view_changed[{"key":[7],"record":{"id":7,"status":"paid"}}])");
  EXPECT_EQ(told(emptied, erased), "state_unavailable");
  append_note(owner, "acme", 3, "goes on");
  for (WsClient* each : {&goes_on, &diverged}) EXPECT_THAT(each->next_of("commit").text, HasSubstr("goes on"));
  owner.run("insert into orders values (8, 'acme', 'paid')");
  EXPECT_THAT(captured.next_of("commit").text, HasSubstr("[8]"));
  node.process().kill();
  owner.run(std::string("drop owned by ") + kNode + "; drop role " + kNode);
}

}  // namespace
}  // namespace viewgate::testing
