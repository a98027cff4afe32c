// Goal: a text that is read as a date or a time is the one that PostgreSQL reads, and what timestamp.hpp says is read is
// read. Method: texts of that grammar, of valid and invalid days and times, are put to both and have one outcome; with one
// character changed, either this program does not read them or it reads what PostgreSQL does.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <random>

#include "projection/json_text.hpp"
#include "projection/timestamp.hpp"
#include "projection/value.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

constexpr const char* functions = R"(
create function public.read_one(moment text, type text) returns text language plpgsql as $$
declare told text; begin
  execute format('select (%L::%s)::text', moment, type) into told;
  return told;
exception when others then return 'error'; end $$;
create function public.read(texts json) returns table (x text, d text, ts text, tz text) language sql as
  $$ select t, read_one(t, 'date'), read_one(t, 'timestamp'), read_one(t, 'timestamptz') from json_array_elements_text(texts) t $$)";

std::string digits(const char* format, int number) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, number);
  return buffer.data();
}

class Moments : public ::testing::Test {
 protected:
  Moments() : session_(PostgresCluster::shared().create_empty_database()) {
    session_.run(
        "set timezone = 'UTC'; set datestyle = 'ISO'; set search_path = public; set client_min_messages = error");
    session_.run(functions);
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string one_of(std::initializer_list<const char*> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }

  std::string day() {
    const std::string year =
        one_of({"2024", "2023", "1900", "0044", "0001", "0000", "12024", "0002024", "294276", "4713"});
    const int month = 1 + below(13);
    const int of_month = below(32);
    switch (below(4)) {
      case 0:
        return year.substr(0, 4) + digits("%02d", month) + digits("%02d", of_month);
      case 1:
        // Of day 366 of a short year PostgreSQL makes the next year's first.
        return year + "-" + digits("%03d", below(366));
      case 2:
        return year + "-" + std::to_string(month) + "-" + std::to_string(of_month);
      default:
        return year + "-" + digits("%02d", month) + "-" + digits("%02d", of_month);
    }
  }

  std::string fraction() {
    if (below(2) == 0) return "";
    std::string out = one_of({".", ".5", ".9999995", ".123456", ".0000005", ".0000015", ".99999949"});
    for (int i = below(20); i > 0 || out == "."; --i) out += static_cast<char>('0' + below(10));
    return out;
  }

  std::string time(bool& basic) {
    basic = below(2) == 0;
    if (basic) {
      // PostgreSQL carries a minute 60 or an hour 25 of these over, which is not read here.
      const std::string out = digits("%02d", below(24)) + digits("%02d", below(60));
      return below(2) == 0 ? out : out + digits("%02d", below(60)) + fraction();
    }
    const char* two = below(3) == 0 ? "%d" : "%02d";
    const bool last = below(6) == 0;
    std::string out =
        digits(two, last ? 23 + below(2) : below(26)) + ":" + digits(two, last ? 59 * below(2) : below(61));
    if (below(3) > 0) out += ":" + digits(two, last ? 60 * below(2) : below(62)) + fraction();
    return out;
  }

  std::string zone(bool basic) {
    const std::string sign = one_of({"+", "-"}) + digits("%02d", below(17));
    switch (below(basic ? 4 : 6)) {
      case 0:
        return "";
      case 1:
        return one_of({"Z", "z", "UTC", "utc", "GMT", "Gmt"});
      case 2:
        return sign;
      case 3:
        return sign + digits("%02d", below(61));
      case 4:
        return sign + ":" + digits(below(3) == 0 ? "%d" : "%02d", below(61));
      default:
        return sign + ":" + digits("%02d", below(61)) + ":" + digits("%02d", below(61));
    }
  }

  std::string spaces() { return one_of({"", "", "", " ", "  ", "\t", "\n "}); }

  std::string moment() {
    if (below(30) == 0) return spaces() + one_of({"", "-"}) + one_of({"infinity", "Infinity", "INFINITY"}) + spaces();
    std::string out = spaces() + day();
    std::string word;
    if (below(4) > 0) {
      bool basic = false;
      out += one_of({"T", "t", " ", "  ", "\t"}) + time(basic) + spaces();
      word = zone(basic);
      out += word;
    }
    if (below(5) == 0) {
      const bool letters = !word.empty() && std::isalpha(static_cast<unsigned char>(word.back())) != 0;
      out += (letters ? " " : spaces()) + one_of({"BC", "bc"});
    }
    return out + spaces();
  }

  std::string changed(std::string text) {
    if (text.empty()) return text;
    const auto at = static_cast<std::size_t>(below(static_cast<int>(text.size())));
    constexpr std::string_view characters = "0123456789-+:.,/TZ BCadutcgm";
    const char c = characters[static_cast<std::size_t>(below(static_cast<int>(characters.size())))];
    switch (below(3)) {
      case 0:
        return text.erase(at, 1);
      case 1:
        return text.insert(at, 1, c);
      default:
        text[at] = c;
        return text;
    }
  }

  PgRows read_there(const std::vector<std::string>& texts) {
    std::string list = "[";
    for (const std::string& text : texts) list += (list.size() > 1 ? "," : "") + encode_json_string(text);
    return session_.query("select * from public.read($1::json)", {list + "]"});
  }

  static std::string read_here(Type type, const std::string& text) {
    const Value value = parse_moment(type, text);
    return is_fault(value) ? "error" : print_text(type, value);
  }

  const unsigned seed_ = seed_from_environment();
  std::mt19937_64 random_{seed_};
  PgSession session_;
};

constexpr std::pair<Type, std::size_t> columns[] = {{Type::date, 1}, {Type::timestamp, 2}, {Type::timestamptz, 3}};

TEST_F(Moments, texts_of_the_grammar_are_read_as_postgresql_reads_them) {
  std::vector<std::string> texts;
  for (int i = 0; i < 4000; ++i) texts.push_back(moment());
  std::size_t valid = 0;
  for (const PgRow& row : read_there(texts)) {
    for (const auto& [type, column] : columns) {
      EXPECT_EQ(read_here(type, *row[0]), *row[column]) << "'" << *row[0] << "'";
      valid += *row[column] == "error" ? 0 : 1;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(valid, texts.size());
}

TEST_F(Moments, what_is_read_of_any_text_is_what_postgresql_reads) {
  std::vector<std::string> texts;
  for (int i = 0; i < 8000; ++i) texts.push_back(changed(moment()));
  std::size_t read = 0;
  for (const PgRow& row : read_there(texts)) {
    for (const auto& [type, column] : columns) {
      const std::string here = read_here(type, *row[0]);
      if (here == "error") continue;
      ++read;
      EXPECT_EQ(here, *row[column]) << "'" << *row[0] << "'";
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(read, texts.size() / 4);
}

TEST_F(Moments, what_other_programs_print_is_read) {
  for (const char* text :
       {"2024-02-28T12:00:00.1234567Z", "2024-02-28 12:00:00.123456789+00", "2024-02-28 12:00:00 +0530",
        "2024-02-28 12:00:00 UTC", "20240228", "20240228T120000Z", "20240228T120000.5+0530", "2024-2-8",
        "2024-2-8 9:05", "2024-059", "Infinity", "-Infinity", "0044-03-15 12:00:00 BC"}) {
    const PgRow row = read_there({text}).front();
    for (const auto& [type, column] : columns) {
      EXPECT_NE(*row[column], "error") << text;
      EXPECT_EQ(read_here(type, text), *row[column]) << text;
    }
  }
}

TEST_F(Moments, what_depends_on_settings_or_is_no_iso_form_is_an_error) {
  for (const char* text : {"now",
                           "today",
                           "epoch",
                           "24-02-28",
                           "240228",
                           "28-Feb-2024",
                           "02/28/2024",
                           "2024/02/28",
                           "J2460369",
                           "2024-02-28 12:00 EST",
                           "2024-02-28 12:00 America/New_York",
                           "2024-02-28 12:00 PM",
                           "2024-02-28+05",
                           "2024-02-28 AD",
                           "2024-02-28 12",
                           "2024-W09-3",
                           "+2024-02-28",
                           "2023-366",
                           "2024-02-28T126000",
                           "2024-02-28 12:00.5",
                           "2024-02-28T12:00:00,5",
                           "inf",
                           "- infinity",
                           ""}) {
    for (const auto& [type, column] : columns) EXPECT_EQ(read_here(type, text), "error") << text;
  }
}

}  // namespace
}  // namespace viewgate::testing
