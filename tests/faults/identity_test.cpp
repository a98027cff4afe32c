// Row 24: keys of issuers are fetched, rotate, and may be out of reach; and who is admitted without any token.
#include <ctime>
#include <filesystem>
#include <fstream>

#include "auth/forge.hpp"
#include "row_test.hpp"
#include "support/key_server.hpp"

namespace viewgate::testing {
namespace {

using test::KeyKind;
using test::SigningKey;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string key_set(const std::vector<std::pair<std::string, SigningKey>>& keys) {
  std::string out;
  for (const auto& [id, key] : keys) {
    out += (out.empty() ? "" : ",") + std::string(R"({"kid":")") + id + "\"," + key.jwk.substr(1);
  }
  return R"({"keys":[)" + out + "]}";
}

std::string token_by(const SigningKey& key, const std::string& id, const std::string& issuer = "https://id.example") {
  return test::forge_signed(R"({"alg":"EdDSA","kid":")" + id + "\"}",
                            R"({"iss":")" + issuer + R"(","aud":"viewgate","sub":"ada","role":"reader","exp":)" +
                                std::to_string(std::time(nullptr) + 3600) + "}",
                            key);
}

/// A ticket is asked for: the head of the answer.
std::string ticket_answer(std::uint16_t port, const std::string& token) {
  RawSocket socket(port);
  socket.send("POST /v1/tickets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
              "\r\nContent-Length: 0\r\n\r\n");
  return socket.read_until("\r\n\r\n");
}

/// A file of this test's own, gone with it.
class TextFile {
 public:
  TextFile(const std::string& name, const std::string& text) : path_(temporary_path(name)) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }
  /// As a whole: nobody reads half of it.
  void replace(const std::string& text) {
    std::ofstream(path_ + ".new") << text;
    std::filesystem::rename(path_ + ".new", path_);
  }

 private:
  std::string path_;
};

std::string fetched_issuer(const KeyServer& server, const std::string& name = "https://id.example") {
  return "[[issuer]]\nname = \"" + name +
         "\"\naudience = \"viewgate\"\nalgorithms = [\"EdDSA\", "
         "\"ES256\"]\njwks_url = \"" +
         server.url() + "\"\n";
}

class IdentityRow : public Row {
 protected:
  GatewayOptions options_with(const TextFile& issuers) {
    GatewayOptions options = line.gateway_options();
    options.set("--auth-issuers", issuers.path());
    options.good_client = [this](std::uint16_t port) { return line.serve_a_good_client(port, good_token); };
    return options;
  }
  /// 0: welcome.
  static std::uint16_t hello_code(std::uint16_t port, const std::string& token) {
    WsClient client(port);
    client.send(R"({"type":"hello","protocol":1,"token":")" + token + "\"}");
    return client.next().type() == "welcome" ? std::uint16_t{0} : client.closed_with();
  }
  void write(const std::string& space, int id) {
    line.sql("insert into items (space, id, status) values ('" + space + "', " + std::to_string(id) + ", 'open')");
  }
  const SigningKey old_key = test::make_signing_key(KeyKind::ed25519),
                   new_key = test::make_signing_key(KeyKind::ed25519);
  std::string good_token = token_by(old_key, "old");  ///< good when the test ends
};

TEST_F(IdentityRow, row_24_a_rotated_key_is_accepted_after_one_fetch_and_who_is_connected_stays) {
  KeyServer server(key_set({{"old", old_key}}));
  const TextFile issuers("issuers.toml", fetched_issuer(server));
  GatewayProcess gateway(options_with(issuers));
  const std::string space = line.new_space();
  WsClient connected(gateway.port(), token_by(old_key, "old"));
  connected.open({.space = space});
  EXPECT_EQ(server.requests(), 1);

  server.serve(key_set({{"new", new_key}}));
  good_token = token_by(new_key, "new");
  WsClient hasty(gateway.port());
  hasty.send(R"({"type":"hello","protocol":1,"token":")" + token_by(new_key, "new") + "\"}");
  hasty.send(subscribe_text({.space = space}));  // behind a hello that waits for the keys
  EXPECT_EQ(hasty.next().type(), "welcome");
  EXPECT_EQ(hasty.next().type(), "subscribed");
  EXPECT_EQ(server.requests(), 2);

  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 4001) << "its key is not among them any more";
  write(space, 2401);
  EXPECT_THAT(connected.next().text, HasSubstr("[2401]")) << "a session that is there outlives its key";
  connected.send(R"({"type":"refresh","token":")" + token_by(new_key, "new") + "\"}");
  write(space, 2402);
  EXPECT_THAT(connected.next().text, HasSubstr("[2402]"));
}

TEST_F(IdentityRow, row_24_tokens_that_name_unknown_keys_cause_one_fetch_in_the_gap) {
  KeyServer server(key_set({{"old", old_key}}));
  const TextFile issuers("issuers.toml", fetched_issuer(server));
  GatewayProcess gateway(options_with(issuers));
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(hello_code(gateway.port(), token_by(new_key, "made-up-" + std::to_string(i))), 4001);
  }
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(hello_code(gateway.port(), token_by(new_key, "old")), 4001) << "a known id, and another's signature";
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old", "https://other.example")), 4001);
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 0);
}

TEST_F(IdentityRow, a_key_set_of_this_machine_is_fetched_past_any_proxy) {
  KeyServer server(key_set({{"old", old_key}}));
  const TextFile issuers("issuers.toml", fetched_issuer(server));
  GatewayOptions options = options_with(issuers);
  for (const char* name : {"http_proxy", "all_proxy"}) options.environment.emplace_back(name, "http://127.0.0.1:1");
  GatewayProcess gateway(options);
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 0);
}

TEST_F(IdentityRow, row_24_an_issuer_out_of_reach_drops_nobody_and_its_known_keys_go_on) {
  KeyServer server(key_set({{"old", old_key}}));
  const TextFile issuers("issuers.toml", fetched_issuer(server));
  GatewayOptions options = options_with(issuers);
  options.set("--time-hello", patient_flag(std::chrono::seconds(5)));
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  WsClient connected(gateway.port(), token_by(old_key, "old"));
  connected.open({.space = space});
  server.fall_silent();
  WsClient waiting(gateway.port());
  waiting.send(R"({"type":"hello","protocol":1,"token":")" + token_by(new_key, "new") + "\"}");
  ASSERT_TRUE(eventually([&] { return server.requests() == 2; }));
  // While the fetch hangs, nothing else does.
  write(space, 2411);
  EXPECT_THAT(connected.next().text, HasSubstr("[2411]"));
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 0);
  EXPECT_EQ(waiting.closed_with(), 4001);
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 0);
}

TEST_F(IdentityRow, row_24_another_issuer_whose_keys_cannot_be_fetched_ends_nobodys_waiting) {
  KeyServer server(key_set({{"old", old_key}}));
  KeyServer third(key_set({{"old", old_key}}));
  const TextFile issuers("issuers.toml", fetched_issuer(server) + fetched_issuer(third, "https://third.example"));
  GatewayOptions options = options_with(issuers);
  options.set("--time-hello", patient_flag(std::chrono::seconds(20)));
  GatewayProcess gateway(options);
  ASSERT_TRUE(eventually([&] { return third.requests() == 1; }));
  const std::string space = line.new_space();
  WsClient connected(gateway.port(), token_by(old_key, "old"));
  connected.open({.space = space});

  third.fall_silent();
  WsClient stranger(gateway.port());
  stranger.send(R"({"type":"hello","protocol":1,"token":")" + token_by(new_key, "nope", "https://third.example") +
                "\"}");
  ASSERT_TRUE(eventually([&] { return third.requests() == 2; }));
  // These wait behind the stranger's fetch, which fails.
  server.serve(key_set({{"new", new_key}}));
  good_token = token_by(new_key, "new");
  WsClient hasty(gateway.port());
  hasty.send(R"({"type":"hello","protocol":1,"token":")" + good_token + "\"}");
  connected.send(R"({"type":"refresh","token":")" + good_token + "\"}");
  EXPECT_EQ(hasty.next().type(), "welcome");
  EXPECT_EQ(stranger.closed_with(), 4001);
  write(space, 2421);
  EXPECT_THAT(connected.next().text, HasSubstr("[2421]"));
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(third.requests(), 2);
}

TEST_F(IdentityRow, row_24_a_request_over_http_has_an_unknown_key_fetched_once_and_the_next_try_succeeds) {
  KeyServer server(key_set({{"old", old_key}}));
  const TextFile issuers("issuers.toml", fetched_issuer(server));
  GatewayProcess gateway(options_with(issuers));
  EXPECT_THAT(ticket_answer(gateway.port(), token_by(old_key, "old")), StartsWith("HTTP/1.1 200 "));
  server.serve(key_set({{"new", new_key}}));
  good_token = token_by(new_key, "new");
  const std::string first = ticket_answer(gateway.port(), token_by(new_key, "new"));
  EXPECT_THAT(first, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(first, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_TRUE(eventually([&] {
    return ticket_answer(gateway.port(), token_by(new_key, "new")).starts_with("HTTP/1.1 200 ");
  })) << gateway.log();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(ticket_answer(gateway.port(), token_by(old_key, "made-up-" + std::to_string(i))),
                StartsWith("HTTP/1.1 401 "));
  }
  EXPECT_EQ(server.requests(), 2) << "strangers cause no more than one in the gap";
}

TEST_F(IdentityRow, row_24_a_key_set_in_a_file_is_read_again_when_a_token_names_an_unknown_key) {
  TextFile keys("keys.json", key_set({{"old", old_key}}));
  const TextFile issuers("issuers.toml",
                         "[[issuer]]\nname = \"https://id.example\"\naudience = \"viewgate\"\n"
                         "algorithms = [\"EdDSA\"]\njwks_file = \"" +
                             keys.path() + "\"\n");
  GatewayOptions options = options_with(issuers);
  options.set("--auth-refresh-gap", "1s");
  GatewayProcess gateway(options);
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 0);
  keys.replace(key_set({{"new", new_key}}));
  good_token = token_by(new_key, "new");
  EXPECT_EQ(hello_code(gateway.port(), token_by(new_key, "new")), 0);
  EXPECT_EQ(hello_code(gateway.port(), token_by(old_key, "old")), 4001) << "its key is not among them any more";
  // What cannot be read changes nothing.
  keys.replace("{\"keys\":");
  EXPECT_TRUE(eventually([&] {
    hello_code(gateway.port(), token_by(old_key, "old"));
    return gateway.log().find("keys_not_fetched") != std::string::npos;
  })) << gateway.log();
  EXPECT_EQ(hello_code(gateway.port(), token_by(new_key, "new")), 0);
}

TEST_F(IdentityRow, several_issuers_have_keys_of_their_own_by_hand_or_from_a_file) {
  const SigningKey edwards = test::make_signing_key(KeyKind::ed25519);
  const TextFile keys("keys.json", key_set({{"k", edwards}}));
  const TextFile secret("hs512.key", std::string(64, 's') + "\n");
  const TextFile issuers("issuers.toml",
                         "[[issuer]]\nname = \"https://id.example\"\naudience = \"viewgate\"\n"
                         "algorithms = [\"EdDSA\"]\njwks_file = \"" +
                             keys.path() +
                             "\"\n"
                             "[[issuer]]\nname = \"legacy\"\naudience = \"viewgate\"\n"
                             "[[issuer.key]]\nid = \"k\"\nalgorithm = \"HS512\"\nfile = \"" +
                             secret.path() + "\"\n");
  GatewayProcess gateway(options_with(issuers));
  good_token = token_by(edwards, "k");
  EXPECT_EQ(hello_code(gateway.port(), good_token), 0);
  EXPECT_EQ(hello_code(gateway.port(), token_by(edwards, "k", "legacy")), 4001);
  const Finished minted = run({program("viewgate"), "token", "--auth-algorithm", "HS512", "--auth-key-file",
                               secret.path(), "--auth-issuer", "legacy", "--sub", "ada"});
  const std::string by_hand = minted.output.substr(0, minted.output.find('\n'));
  EXPECT_EQ(hello_code(gateway.port(), by_hand), 0) << "without a kid the keys of its algorithm are tried";
}

TEST_F(IdentityRow, a_table_of_issuers_that_is_wrong_is_refused_with_its_place) {
  const std::string start = "[[issuer]]\nname = \"a\"\naudience = \"b\"\n";
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "there is no [[issuer]]"},
           {"[[issuer]]\naudience = \"b\"\n", ":1: name must be there"},
           {start, ":1: exactly one of key, jwks_file and jwks_url"},
           {start + "algorithms = [\"HS256\"]\njwks_url = \"https://a/\"\n", ":4: a key set has no secrets"},
           {start + "algorithms = [\"none\"]\njwks_url = \"https://a/\"\n", ":4: algorithm must be"},
           {start + "algorithms = [\"RS256\"]\njwks_url = \"http://a/\"\n", "jwks_url must be https"},
           {start + "colour = 1\n", ":4: colour is not known here"},
           {start + "jwks_file = \"nowhere.json\"\nalgorithms = [\"RS256\"]\n", "nowhere.json"},
           {start + "[[issuer.key]]\nid = \"k\"\nalgorithm = \"HS256\"\nfile = \"nowhere.key\"\n", ":7: file: "},
           {start + "[[issuer.key]]\nid = \"k\"\nalgorithm = \"HS512\"\nfile = \"" + key_file() + "\"\n",
            ":1: token key \"k\": the secret must have at least 64 bytes"},
           {"[[issuer", ":1:"},
       }) {
    const TextFile issuers("issuers.toml", text);
    const Finished done = run({program("viewgate"), "serve", "--database", line.database(), "--listen", "127.0.0.1:0",
                               "--auth-issuers", issuers.path()});
    EXPECT_NE(done.status, 0) << text;
    EXPECT_THAT(done.output, HasSubstr(says)) << text;
  }
}

TEST_F(IdentityRow, who_brings_no_token_is_let_in_where_that_is_configured_and_sees_what_a_policy_gives) {
  const auto hello = [](WsClient& client) {
    client.send(R"({"type":"hello","protocol":1})");
    return client.next();
  };
  WsClient refused(line.port());
  EXPECT_EQ(hello(refused).type(), "");
  EXPECT_EQ(refused.closed_with(), 4001);

  Line open(line.cluster(), {.model = R"(
create table items (like public.items) with (space = 'space');
create view shop_window as select id, status from items where status = 'open';
create view back_room as select id, x from items where id >= 0;
create policy everyone on shop_window using (true);
create policy known on back_room using (claims.sub is not null);
)",
                             .flags = [] {
                               auto flags = quick_deadlines();
                               flags.insert(flags.end(), {"--auth-anonymous", "admit"});
                               return flags;
                             }()});
  const std::string space = open.new_space();
  WsClient stranger(open.port());
  const Document welcome = hello(stranger);
  EXPECT_EQ(welcome.type(), "welcome");
  EXPECT_EQ(welcome.plain("principal"), "");
  stranger.send(subscribe_text({.id = "b", .space = space, .view = "back_room"}));
  EXPECT_EQ(stranger.next().plain("code"), "forbidden");
  const std::string cursor = stranger.open({.space = space, .view = "shop_window"}).cursor();
  WsClient ada(open.port(), token("ada"));
  ada.send(subscribe_text({.space = space, .view = "shop_window", .cursor = cursor}));
  EXPECT_EQ(ada.next().plain("code"), "cursor_invalid") << "nobody's cursor is not hers";
  stranger.send(R"({"type":"refresh","token":")" + token("ada") + "\"}");
  EXPECT_EQ(stranger.closed_with(), 4003) << "nobody does not become somebody on an open socket";
}

}  // namespace
}  // namespace viewgate::testing
