// Goal: the evaluator decides and computes as PostgreSQL does, and what is pushed down is a superset that never raises.
// Method: random expressions over a table with a column of each type are put to both. PostgreSQL says for each row true,
// false, NULL, a value, or raises; ours says the same, where an error of PostgreSQL is our fourth truth value or one that
// AND and OR decide without (PostgreSQL may raise there, and may not: it chooses its own order). A find is made smaller,
// printed, and written to VIEWGATE_FINDS where that is set; finds/ holds the ones that were fixed. The seed is printed:
// one and the same, so that what fails is of the change at hand, unless VIEWGATE_SEED says another, as ./dev fuzz does.
// VIEWGATE_FUZZ_SECONDS lengthens the run.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "projection/oracle.hpp"
#include "projection/pushdown.hpp"
#include "support/seed.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

constexpr std::size_t rows_at_once = 40;
constexpr int questions_at_once = 40;
constexpr int batches_per_fill = 5;

std::vector<std::filesystem::path> kept_finds() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(VIEWGATE_SOURCE_DIR) + "/tests/projection/finds"))
    out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

class Differential : public ::testing::Test {
 protected:
  Differential() : seed_(seed_from_environment(1)), maker_(seed_) {}

  void fill() {
    rows_.clear();
    for (std::size_t i = 0; i < rows_at_once; ++i) rows_.push_back(maker_.row());
    oracle_.fill(rows_);
  }

  /// What differs for that row alone, or nothing.
  std::string differs(const Made& made, const std::string& row) {
    oracle_.fill({row});
    const Question question = render(made);
    const Answers answers = oracle_.ask({question}).front();
    if (!answers.refused.empty()) return {};
    const std::string difference = Oracle::difference(question, answers, 0);
    return difference.empty() ? Oracle::missing(answers) : difference;
  }

  /// Reports the smallest tree that still shows it.
  void report(Made made, const std::string& row) {
    std::string what = differs(made, row);
    if (what.empty()) return;
    for (bool shrunk = true; shrunk;) {
      shrunk = false;
      for (Made& candidate : ExpressionMaker::smaller(made)) {
        const std::string still = differs(candidate, row);
        if (still.empty()) continue;
        made = std::move(candidate);
        what = still;
        shrunk = true;
        break;
      }
    }
    const std::string find = print_find({render(made), row});
    if (!reported_.insert(find).second) return;
    ADD_FAILURE() << "VIEWGATE_SEED=" << seed_ << "\n" << what << "\n" << find;
    if (const char* directory = std::getenv("VIEWGATE_FINDS")) {
      std::ofstream(std::string(directory) + "/find_" + std::to_string(std::hash<std::string>{}(find)) + ".json")
          << find;
    }
  }

  void judge(const Made& made, const Question& question, const Answers& answers) {
    if (!answers.refused.empty()) {
      ++refused_[answers.refused.substr(0, 40)];
      return;
    }
    std::string wrong = Oracle::missing(answers);
    std::size_t place = wrong.empty() ? 0 : std::stoul(answers.rows.empty() ? "1" : answers.rows.front()) - 1;
    for (std::size_t i = 0; i < rows_.size() && wrong.empty(); ++i) {
      wrong = Oracle::difference(question, answers, i);
      place = i;
    }
    pairs_ += rows_.size();
    pushed_out_ += answers.narrowed.empty() ? 0 : rows_.size() - answers.read.size();
    for (const std::string& answer : answers.ours)
      ++answers_[question.type != "bool" && answer != "error" && answer != "null" ? "value" : answer];
    if (wrong.empty()) return;
    const std::vector<std::string> rows = rows_;
    if (answers.rows.empty()) {
      report(made, rows[place]);
    } else {
      for (const std::string& row : rows) report(made, row);
    }
    oracle_.fill(rows);
    // Alone the row may not show it: then the find stays as large as it is.
    if (!HasFailure()) ADD_FAILURE() << "VIEWGATE_SEED=" << seed_ << "\n" << wrong;
  }

  const std::uint64_t seed_;
  ExpressionMaker maker_;
  Oracle oracle_;
  std::vector<std::string> rows_;
  std::map<std::string, std::uint64_t> answers_;
  std::map<std::string, std::uint64_t> refused_;
  std::set<std::string> reported_;
  std::uint64_t pairs_ = 0;
  std::uint64_t pushed_out_ = 0;
};

TEST_F(Differential, finds_that_were_fixed_stay_fixed) {
  int finds = 0;
  for (const auto& path : kept_finds()) {
    const Find find = read_find(read_file(path));
    oracle_.fill({find.row});
    const Answers answers = oracle_.ask({find.question}).front();
    SCOPED_TRACE(path.filename().string());
    ++finds;
    EXPECT_EQ(answers.refused, "");
    if (!answers.refused.empty()) continue;
    EXPECT_EQ(Oracle::difference(find.question, answers, 0), "");
    EXPECT_EQ(Oracle::missing(answers), "");
  }
  EXPECT_GT(finds, 0);
}

/// Literals of the model, in no order, some twice; a NULL among them where asked.
std::string long_list(Random& random, const std::string& type, bool with_null) {
  std::string out;
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = i % 3 == 0 ? sample_text(random, type) : std::to_string(random.pick(20'000) - 10'000);
    out += (i == 0 ? "" : ", ") + projection::quote_literal(text);
  }
  return with_null ? out + ", null" : out;
}

TEST_F(Differential, a_list_of_ten_thousand_literals_agrees_with_postgresql) {
  fill();
  Random random(seed_);
  std::vector<Question> asked;
  for (const std::string type : {"int4", "int8", "numeric", "text"}) {
    const std::string column = sample_column(random, type).first;
    for (const std::string word : {" in (", " not in ("}) {
      for (const bool with_null : {false, true}) {
        Question& question = asked.emplace_back();
        question.type = "bool";
        const std::string list = long_list(random, type, with_null);
        question.model = column + word + list + ")";
        question.sql = "t." + question.model;
      }
    }
  }
  const std::vector<Answers> answers = oracle_.ask(asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    ASSERT_EQ(answers[i].refused, "");
    EXPECT_EQ(Oracle::missing(answers[i]), "");
    for (std::size_t row = 0; row < oracle_.size(); ++row) EXPECT_EQ(Oracle::difference(asked[i], answers[i], row), "");
  }
}

TEST_F(Differential, the_evaluator_agrees_with_postgresql) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(number_from_environment("VIEWGATE_FUZZ_SECONDS", 10));
  std::uint64_t questions = 0;
  for (int batch = 0; std::chrono::steady_clock::now() < end && !HasFailure(); ++batch) {
    if (batch % batches_per_fill == 0) fill();
    std::vector<Made> made;
    std::vector<Question> asked;
    for (int i = 0; i < questions_at_once; ++i) {
      made.push_back(i % 3 == 2 ? maker_.value() : maker_.condition());
      asked.push_back(render(made.back()));
    }
    const std::vector<Answers> answers = oracle_.ask(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) judge(made[i], asked[i], answers[i]);
    questions += asked.size();
  }
  std::cout << questions << " expressions, " << pairs_ << " pairs; pushed out " << pushed_out_ << ";";
  for (const auto& [answer, count] : answers_) std::cout << " " << answer << " " << count;
  std::uint64_t refused = 0;
  for (const auto& [why, count] : refused_) refused += count;
  std::cout << "; refused " << refused << std::endl;
  if (std::getenv("VIEWGATE_FUZZ_VERBOSE") != nullptr) {
    for (const auto& [why, count] : refused_) std::cout << count << " " << why << std::endl;
  }
  for (const char* answer : {"true", "false", "null", "error", "value"}) EXPECT_GT(answers_[answer], 0U) << answer;
  EXPECT_GT(pushed_out_, 0U);
  // What is constant and always fails is refused when the model is loaded; nothing else of this is.
  EXPECT_LT(refused * 5, questions);
}

}  // namespace
}  // namespace viewgate::testing
