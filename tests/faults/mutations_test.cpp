// Rows about mutations, over real sockets: what is malformed costs nothing, what is processed has one receipt whatever
// breaks, and nobody hears of another's.
#include <thread>

#include "row_test.hpp"
#include "support/tcp_gate.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Mutations : public Row {
 protected:
  /// One mutation of notes as an array. `key` and `values` are JSON.
  static std::string one(const std::string& kind, const std::string& key, const std::string& values,
                         const std::string& collection = "notes") {
    const std::string member = kind == "update" ? "changed" : "record";
    return "[{\"kind\":\"" + kind + "\",\"collection\":\"" + collection + "\",\"key\":" + key +
           (kind == "delete" ? "" : ",\"" + member + "\":" + values) + "}]";
  }
  static std::string note(const std::string& owner, const std::string& more = "") {
    return R"({"title":"t","owner":")" + owner + "\"" + (more.empty() ? "" : "," + more) + "}";
  }
  std::int64_t head(const std::string& of) { return std::stoll(line.value("select viewgate.watermark($1)", {of})); }
  std::string records_of(const std::string& of) {
    return line.value("select count(*) from viewgate.records where space = $1", {of});
  }
  WsClient connect(const std::string& client, const std::string& subject = "alice") {
    return WsClient(line.port(), line.reader(subject), client);
  }

  std::string space = line.new_space();
};

TEST_F(Mutations, row_33_and_46_a_number_that_is_none_is_a_bad_request_and_uses_nothing) {
  for (const std::string number :
       {"\"0\"", "\"-1\"", "\"9223372036854775808\"", "1", "1.5", "-0", "9007199254740993"}) {
    WsClient client = connect("c");
    client.send(R"({"type":"mutate","space":")" + space + R"(","number":)" + number +
                ",\"mutations\":" + one("create", "[1]", note("alice")) + "}");
    const Document error = client.next();
    EXPECT_EQ(error.plain("code"), "bad_request") << error.text;
    EXPECT_THAT(error.plain("message"), StartsWith("number: "));
    EXPECT_EQ(error.plain("space"), space);
  }
  EXPECT_EQ(head(space), 0);
}

TEST_F(Mutations, row_34_a_value_that_its_column_cannot_hold_is_refused_and_the_number_stays_free) {
  WsClient client = connect("c");
  const std::vector<std::pair<std::string, std::string>> bad{
      {R"("title":5)", "mutations[0].record.title: must be a string"},
      {R"("title":null)", "mutations[0].record.title: must not be null"},
      {R"("title":"x","colour":1)", "mutations[0].record.colour: is no column of notes"},
      {R"("title":"a\u0000b")", "mutations[0].record.title: must not hold U+0000"},
      {R"("title":"\ud800")", "mutations[0].record: is not JSON that a column can hold"},
      {R"("title":"x","title":"y")", "mutations[0].record: is not JSON that a column can hold"},
      {R"("title":"x","doc":{"a":{"b":1,"b":2}})", "mutations[0].record: is not JSON that a column can hold"},
      {R"("title":"x","amount":"NaN")", "mutations[0].record.amount: must be a finite number"},
      {R"("title":"x","amount":1e200000)", "mutations[0].record.amount: must be a finite number"},
      {R"("title":"x","uid":"1")", "mutations[0].record.uid: must be a uuid"},
      {R"("title":"x","at":"now")", "mutations[0].record.at: must be a time"},
      {R"("title":"x","ends":"2024-02-30")", "mutations[0].record.ends: must be a date"},
      {R"("title":"x","id":2)", "mutations[0].record.id: is not what the key says"},
      {R"("title":"x","doc":[1e131000,1e131000,1e131000,1e131000,1e131000,1e131000,1e131000,1e131000,1e131000])",
       "mutations[0].record.doc: makes the record larger than 1048576 bytes"},
      {R"("title":"x","doc":)" + std::string(17, '[') + std::string(17, ']'),
       "mutations[0].record.doc: is nested deeper than 16"},
  };
  for (const auto& [members, message] : bad) {
    client.mutate(space, 1, one("put", "[1]", "{\"owner\":\"alice\"," + members + "}"));
    const Document error = client.next();
    EXPECT_EQ(error.plain("code"), "invalid_value") << members << error.text;
    EXPECT_THAT(error.plain("message"), StartsWith(message));
    EXPECT_EQ(error.plain("number"), "1");
  }
  client.mutate(space, 1, one("put", "[\"x\"]", "{}"));
  EXPECT_EQ(client.next().plain("code"), "invalid_value");
  EXPECT_EQ(head(space), 0) << "nothing was written";
  client.mutate(space, 1, one("put", "[1]", note("alice")));
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("\"applied\"")) << "the number was free";
}

TEST_F(Mutations, row_34_a_provenance_that_would_expand_without_bound_is_refused) {
  WsClient client = connect("c");
  const auto send = [&](const std::string& provenance) {
    client.send(R"({"type":"mutate","space":")" + space + R"(","number":"1","mutations":)" +
                one("create", "[1]", note("alice")) + ",\"provenance\":" + provenance + "}");
  };
  for (const std::string provenance : {R"({"a":[1e131000,1e131000]})", R"({"a":{"b":{"c":1,"c":2}}})"}) {
    send(provenance);
    const Document error = client.next();
    EXPECT_EQ(error.plain("code"), "invalid_value") << error.text;
    EXPECT_THAT(error.plain("message"), StartsWith("provenance: "));
  }
  EXPECT_EQ(head(space), 0);
  send(R"({"form":"a","n":1.10})");
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("\"applied\""));
}

TEST_F(Mutations, row_34_I11_what_is_written_has_one_text_in_snapshot_stream_and_log) {
  WsClient writer = connect("c"), watcher(line.port(), line.reader("bob"));
  watcher.open({.space = space, .view = "all_notes"});
  writer.mutate(
      space, 1,
      one("create", "[9007199254740993]",
          note("alice", R"("amount":1e400,"doc":{"b":1.10,"a":[1e2,"\u00e9\/"]},)"
                        R"("uid":"7F0C0AD2-9D2A-4F0E-8A3B-2B3D6C1E4F55","at":"2024-01-02 03:04:05.60+05:30")")));
  EXPECT_THAT(writer.receipt_of(1).text, HasSubstr("\"applied\""));
  const Document entered{watcher.next_of("commit").raw("events")};
  const std::string expected = line.value(
      "select jsonb_build_object('amount', 1e400::numeric, 'doc', '{\"b\":1.10,\"a\":[1e2,\"é/\"]}'::jsonb, 'uid',"
      " '7f0c0ad2-9d2a-4f0e-8a3b-2b3d6c1e4f55'::uuid, 'at', to_jsonb('2024-01-01 21:34:05.6+00'::timestamptz at time "
      "zone 'UTC')"
      "::text)::text");
  const Opened opened = WsClient(line.port(), line.reader("bob")).open({.space = space, .view = "all_notes"});
  ASSERT_EQ(opened.records.size(), 1U);
  const Document record{Document{opened.records[0]}.raw("record")};
  for (const char* column : {"amount", "doc", "uid"})
    EXPECT_EQ(record.raw(column), Document{expected}.raw(column)) << column;
  EXPECT_EQ(record.plain("at"), "2024-01-01T21:34:05.6+00:00");
  EXPECT_THAT(entered.text, HasSubstr(record.text));
  EXPECT_THAT(entered.text, HasSubstr("\"key\":[9007199254740993]"));
  EXPECT_EQ(line.value("select c.after from viewgate.changes c where c.space = $1", {space}),
            line.value("select r.value::text from viewgate.records r where r.space = $1", {space}));
}

TEST_F(Mutations, row_35_what_looks_like_sql_is_only_text) {
  WsClient client = connect("c");
  const std::vector<std::string> names{"'; drop table items; --", "$1", "%_", "\\\\' or 1=1", "a''b", "/*",
                                       "\\\"quoted\\\""};
  std::int64_t number = 0;
  for (const std::string& name : names) {
    client.mutate(space, ++number, one("create", "[\"" + name + "\"]", "{\"colour\":\"" + name + "\"}", "labels"));
    EXPECT_THAT(client.receipt_of(number).text, HasSubstr("\"applied\"")) << name;
  }
  client.mutate(space, ++number, one("delete", "[\"%\"]", "", "labels"));
  EXPECT_THAT(client.receipt_of(number).text, HasSubstr("\"not_found\""));
  const Opened opened = client.open({.space = space, .view = "all_labels"});
  ASSERT_EQ(opened.records.size(), names.size());
  EXPECT_EQ(records_of(space), std::to_string(names.size()));
  EXPECT_EQ(line.value("select count(*) from items where false"), "0") << "the table is there";
}

TEST_F(Mutations, row_45_a_replay_gives_the_same_receipt_and_another_body_is_a_conflict) {
  WsClient client = connect("c");
  client.mutate(space, 1, one("create", "[1]", note("alice")));
  const Document first = client.receipt_of(1);
  EXPECT_THAT(first.text, HasSubstr("\"applied\""));
  client.mutate(space, 1, one("create", "[ 1 ]", R"({ "owner" : "alice", "title":"t"})"));
  EXPECT_EQ(client.receipt_of(1).text, first.text) << "blanks and the order of names mean nothing";
  WsClient again = connect("c");
  again.mutate(space, 1, one("create", "[1]", note("alice")));
  EXPECT_EQ(again.receipt_of(1).text, first.text);
  for (const std::string& other :
       {one("create", "[2]", note("alice")), one("create", "[1]", R"({"colour":"unknown"})")}) {
    client.mutate(space, 1, other);
    const Document error = client.next();
    EXPECT_EQ(error.plain("code"), "sequence_conflict") << error.text;
    EXPECT_EQ(error.plain("number"), "1");
  }
  EXPECT_EQ(head(space), 1);
}

TEST_F(Mutations, row_46_a_gap_is_refused_with_the_number_that_is_expected) {
  WsClient client = connect("c");
  client.mutate(space, 3, one("create", "[1]", note("alice")));
  Document error = client.next();
  EXPECT_EQ(error.plain("code"), "sequence_gap") << error.text;
  EXPECT_EQ(error.plain("expected"), "1");
  client.mutate(space, 1, one("create", "[1]", note("alice")));
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("\"applied\""));
  client.mutate(space, 3, one("create", "[2]", note("alice")));
  error = client.next();
  EXPECT_EQ(error.plain("expected"), "2");
  EXPECT_EQ(head(space), 1);
}

TEST_F(Mutations, row_47_the_same_mutation_on_two_nodes_at_once_is_one_commit_with_equal_receipts) {
  GatewayProcess other(line.gateway_options());
  for (std::int64_t number = 1; number <= 20; ++number) {
    WsClient here = connect("c"), there(other.port(), line.reader(), "c");
    const std::string body = one("create", "[" + std::to_string(number) + "]", note("alice"));
    here.mutate(space, number, body);
    there.mutate(space, number, body);
    const std::string one_receipt = here.receipt_of(number).text;
    EXPECT_THAT(one_receipt, HasSubstr("\"applied\""));
    EXPECT_EQ(one_receipt, there.receipt_of(number).text);
  }
  EXPECT_EQ(head(space), 20);
}

TEST_F(Mutations, row_48_a_connection_that_is_cut_before_the_receipt_learns_it_by_sending_again) {
  for (std::int64_t number = 1; number <= 10; ++number) {
    const std::string body = one("put", "[1]", note("alice", R"("body":")" + std::to_string(number) + "\""));
    {
      WsClient cut = connect("c");
      cut.mutate(space, number, body);
      cut.raw().socket().reset();
    }
    WsClient again = connect("c");
    again.mutate(space, number, body);
    EXPECT_THAT(again.receipt_of(number).text, HasSubstr("\"applied\""));
    EXPECT_EQ(head(space), number) << "once";
  }
}

TEST_F(Mutations, row_49_what_a_rule_refuses_has_a_receipt_and_no_effect_and_a_batch_has_none_at_all) {
  WsClient client = connect("c");
  client.mutate(space, 1, one("create", "[1]", note("bob")));
  Document receipt = client.receipt_of(1);
  EXPECT_THAT(receipt.text, AllOf(HasSubstr("\"rejected\""), HasSubstr("\"forbidden\"")));
  client.mutate(space, 2, one("create", "[1]", note("alice")));
  client.receipt_of(2);
  client.mutate(space, 3, one("update", "[1]", R"({"title":"never"})"));
  EXPECT_THAT(client.receipt_of(3).text, AllOf(HasSubstr("\"rejected\""), HasSubstr("\"forbidden\"")));
  const auto item = [](const std::string& array) { return array.substr(1, array.size() - 2); };
  client.mutate(
      space, 4,
      "[" + item(one("create", "[2]", note("alice"))) + "," + item(one("create", "[1]", note("alice"))) + "]");
  EXPECT_THAT(client.receipt_of(4).text, AllOf(HasSubstr("\"already_exists\""), HasSubstr("\"mutation\":1")));
  client.mutate(space, 5, one("update", "[3]", R"({"title":"x"})"));
  EXPECT_THAT(client.receipt_of(5).text, HasSubstr("\"not_found\""));
  EXPECT_EQ(head(space), 5);
  EXPECT_EQ(records_of(space), "1");
  EXPECT_EQ(line.value("select count(*) from viewgate.changes where space = $1", {space}), "1");
}

TEST_F(Mutations, a_captured_table_and_one_that_nobody_knows_are_rejected_as_not_writable_alike) {
  WsClient client = connect("c");
  std::int64_t number = 0;
  for (const std::string collection : {"items", "public.items", "nothing"}) {
    client.mutate(space, ++number, one("create", "[1]", R"({"n":1e9999})", collection));
    const std::string text = std::to_string(number);
    EXPECT_EQ(
        client.receipt_of(number).text,
        R"({"type":"receipts","space":")" + space + R"(","sequence":")" + text +
            R"(","receipts":[{"outcome":"rejected","client":"c","number":")" + text + R"(","sequence":")" + text +
            R"(","reason":"not_writable","detail":"the collection is not one that mutations write","mutation":0}]})");
  }
  EXPECT_EQ(head(space), 3) << "a rejection uses its number";
}

TEST_F(Mutations, a_batch_with_a_captured_table_is_rejected_whole_and_replayed_by_its_own_bytes) {
  WsClient client = connect("c");
  const auto item = [](const std::string& array) { return array.substr(1, array.size() - 2); };
  const auto batch = [&](const std::string& last) {
    return "[" + item(one("create", "[1]", note("alice"))) + "," + item(one("delete", "[1]", "", "items")) + "," +
           last + "]";
  };
  client.mutate(space, 1, batch(item(one("create", "[2]", note("alice")))));
  const std::string receipt = client.receipt_of(1).text;
  EXPECT_THAT(receipt, AllOf(HasSubstr("\"not_writable\""), HasSubstr("\"mutation\":1")));
  client.mutate(space, 1, batch(item(one("create", "[2]", note("alice")))));
  EXPECT_EQ(client.receipt_of(1).text, receipt);
  client.mutate(space, 1, batch(item(one("create", "[3]", note("alice")))));
  EXPECT_EQ(client.next().plain("code"), "sequence_conflict");
  EXPECT_EQ(records_of(space), "0");
  client.mutate(space, 2, one("create", "[1]", note("alice")));
  EXPECT_THAT(client.receipt_of(2).text, HasSubstr("\"applied\""));
}

TEST_F(Mutations, I7_a_record_that_is_not_ones_own_looks_like_none_and_its_values_are_told_to_nobody) {
  WsClient bob = connect("b", "bob"), alice = connect("a");
  bob.mutate(space, 1, one("create", "[7]", note("bob", R"("body":"a-secret")")));
  EXPECT_THAT(bob.receipt_of(1).text, HasSubstr("\"applied\""));
  const auto without_numbers = [](Document receipt) {
    std::string text = receipt.text;
    for (char& c : text) c = c >= '0' && c <= '9' ? '0' : c;
    return text;
  };
  alice.mutate(space, 1, one("update", "[7]", R"({"title":"x"})"));
  const std::string hidden = without_numbers(alice.receipt_of(1));
  alice.mutate(space, 2, one("update", "[8]", R"({"title":"x"})"));
  EXPECT_EQ(hidden, without_numbers(alice.receipt_of(2)));
  EXPECT_THAT(hidden, HasSubstr("\"not_found\""));
  EXPECT_THAT(hidden, Not(HasSubstr("secret")));
}

TEST_F(Mutations, I7_no_byte_of_a_receipt_reaches_another_client_or_principal) {
  WsClient author = connect("mine"), other_client = connect("other"), same_name = connect("mine", "bob"),
           nameless(line.port(), line.reader());
  for (WsClient* each : {&author, &other_client, &same_name, &nameless})
    each->open({.space = space, .view = "my_notes"});
  author.mutate(space, 1, one("create", "[1]", note("carol", R"("body":"a-secret")")));
  author.mutate(space, 2, one("create", "[2]", note("alice", R"("body":"a-secret")")));
  EXPECT_THAT(author.receipt_of(2).text, HasSubstr("\"applied\""));
  same_name.mutate(space, 1, one("create", "[3]", note("bob")));
  const Document refused = same_name.next();
  EXPECT_EQ(refused.plain("code"), "forbidden") << refused.text;
  line.settled_head(space);
  // What each of the others hears until the space has moved twice.
  for (WsClient* each : {&other_client, &same_name, &nameless}) {
    each->also_show("progress");
    Document document;
    do {
      document = each->next();
      EXPECT_NE(document.type(), "receipts") << document.text;
      EXPECT_THAT(document.text, Not(HasSubstr("secret")));
    } while (!document.text.empty() && document.number("sequence") < 2);
  }
}

TEST_F(Mutations, who_may_write_nothing_in_a_space_is_refused_before_anything_is_processed) {
  WsClient client(line.port(), token("mallory", {"role=guest"}), "c");
  client.mutate(space, 1, one("create", "[1]", R"({"title":"x"})", "labels"));
  const Document error = client.next();
  EXPECT_EQ(error.plain("code"), "forbidden") << error.text;
  EXPECT_EQ(error.plain("number"), "1");
  EXPECT_EQ(head(space), 0);
}

TEST_F(Mutations, row_56_while_postgresql_is_away_mutations_are_unavailable_and_sent_again_they_are_processed_once) {
  TcpGate gate(line.cluster().server().socket_directory() / ".s.PGSQL.5432");
  GatewayOptions options = line.gateway_options();
  options.database = "host=127.0.0.1 port=" + std::to_string(gate.port()) +
                     " user=" + line.value("select current_user") +
                     " dbname=" + line.value("select current_database()") + " sslmode=disable gssencmode=disable";
  options.set("--ledger-database-time", "2s");
  GatewayProcess gateway(options);
  WsClient client(gateway.port(), line.reader(), "c");
  client.open({.space = space, .view = "all_notes"});
  client.mutate(space, 1, one("create", "[1]", note("alice")));
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("\"applied\""));
  gate.shut();
  client.mutate(space, 2, one("create", "[2]", note("alice")));
  const Document error = client.next_of("error", patient(std::chrono::seconds(60)));
  EXPECT_EQ(error.plain("code"), "unavailable") << error.text;
  EXPECT_EQ(error.plain("number"), "2");
  EXPECT_GE(error.number("retry_after"), 0);
  const std::string body = R"({"client":"h","number":"1","mutations":)" + one("create", "[3]", note("alice")) + "}";
  RawSocket http(gateway.port());
  http.send("POST /v1/spaces/" + space + "/mutations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
            line.reader() + "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n\r\n" + body);
  EXPECT_THAT(http.read_until("\r\n\r\n", patient(std::chrono::seconds(60))),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("\r\nRetry-After: 1\r\n")));
  gate.open();
  Document answer;
  do {
    client.mutate(space, 2, one("create", "[2]", note("alice")));
    answer = client.next(patient(std::chrono::seconds(60)));
  } while (!answer.text.empty() && answer.text.find("\"number\":\"2\"") == std::string::npos);
  EXPECT_THAT(answer.text, HasSubstr("\"applied\""));
  EXPECT_EQ(head(space), 2) << "once, however often it was sent";
}

}  // namespace
}  // namespace viewgate::testing
