// Lines of the log where their reader stands still, comes back or is gone: whoever logs never waits, no line is torn unseen, and what
// was lost is told.
#include "gateway/log_writer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/patience.hpp"

namespace viewgate::gateway::log {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t waiting_bytes_max = 4000;
constexpr std::chrono::milliseconds at_once{0};

std::string account(std::uint64_t lost) { return "lost " + std::to_string(lost) + "\n"; }

std::string numbered(int number) { return "line " + std::to_string(number) + " " + std::string(80, '.') + "\n"; }

/// What the lines have that came: each whole and in its place, lost ones told where they are missing. Gives how many were lost.
int lost_of(const std::string& text, int written) {
  std::istringstream lines(text);
  int next = 0;
  int lost = 0;
  for (std::string each; std::getline(lines, each);) {
    if (each.starts_with("lost ")) {
      lost += std::stoi(each.substr(5));
      next += std::stoi(each.substr(5));
    } else {
      EXPECT_EQ(each + "\n", numbered(next++));
    }
  }
  EXPECT_EQ(next, written);
  EXPECT_TRUE(text.ends_with("\n"));
  return lost;
}

enum class Kind { pipe, pipe_of_another_user, socket };

class LogWriterOn : public ::testing::TestWithParam<Kind> {
 protected:
  LogWriterOn() {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    if (GetParam() == Kind::socket) {
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    } else {
      EXPECT_EQ(::pipe(ends.data()), 0);
      EXPECT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
    }
    reader = ends[0];
    out = ends[1];
  }
  ~LogWriterOn() override {
    hang_up();
    ::close(out);
  }
  LogWriterOn(const LogWriterOn&) = delete;
  LogWriterOn& operator=(const LogWriterOn&) = delete;

  /// Whom a pipe does not belong to may not open it anew: so it is after `su`.
  std::unique_ptr<LogWriter> make_writer() const {
    const bool is_root = ::geteuid() == 0;
    constexpr uid_t nobody = 65534;
    if (GetParam() == Kind::pipe_of_another_user && is_root) {
      EXPECT_EQ(::seteuid(nobody), 0);
    }
    auto made = std::make_unique<LogWriter>(out, waiting_bytes_max, account);
    if (::geteuid() == nobody && ::getuid() == 0) {
      EXPECT_EQ(::seteuid(0), 0);
    }
    ::prctl(PR_SET_DUMPABLE, 1);  // which a change of users has undone
    return made;
  }
  void hang_up() {
    if (reader >= 0) ::close(reader);
    reader = -1;
  }
  /// Until nothing waits and nothing is left.
  std::string read_all(LogWriter& writer) const {
    EXPECT_GE(::fcntl(reader, F_SETFL, O_NONBLOCK), 0);
    std::string text;
    std::array<char, 65536> buffer{};
    const auto read_some = [&] {
      const ssize_t size = ::read(reader, buffer.data(), buffer.size());
      if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
      return size > 0;
    };
    const auto end = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds(20));
    while (!writer.flush(std::chrono::milliseconds(1)) && std::chrono::steady_clock::now() < end) read_some();
    while (read_some()) {
    }
    return text;
  }

  int reader = -1;
  int out = -1;
};

TEST_P(LogWriterOn, who_logs_does_not_wait_for_a_reader_who_does_not_read_and_lines_flow_again_in_order) {
  const auto writer = make_writer();
  int written = 0;
  for (int round = 1; round <= 3; ++round) {
    // Far more than the descriptor and the queue take; a socket takes some hundred kilobytes.
    const auto before = writer->lost();
    while (writer->lost() < before + 10 && written < round * 20'000) writer->write(numbered(written++));
    ASSERT_GE(writer->lost(), before + 10);
    EXPECT_FALSE(writer->flush(at_once));
    const std::string text = read_all(*writer);
    if (round == 1) {
      EXPECT_EQ(lost_of(text, written), 10);
    }
    EXPECT_TRUE(writer->flush(at_once)) << "round " << round;
    EXPECT_THAT(text, HasSubstr("lost 10\n"));
  }
  writer->write("a last one\n");
  EXPECT_EQ(read_all(*writer), "a last one\n") << "at once, and nothing more is to be told";
  EXPECT_EQ(::fcntl(out, F_GETFL) & O_NONBLOCK, 0) << "it is the descriptor of others, too";
}

TEST_P(LogWriterOn, a_reader_who_goes_away_costs_lines_and_nothing_else) {
  const auto writer = make_writer();
  int written = 0;
  while (writer->lost() == 0 && written < 20'000) writer->write(numbered(written++));
  hang_up();
  EXPECT_TRUE(writer->flush(testing::patient(std::chrono::seconds(20)))) << "what waited is lost, too";
  const auto before = writer->lost();
  writer->write("nobody reads this\n");
  EXPECT_EQ(writer->lost(), before + 1);
}

TEST_P(LogWriterOn, a_process_that_ends_does_not_wait_for_it) {
  auto writer = make_writer();
  int written = 0;
  while (writer->lost() == 0 && written < 20'000) writer->write(numbered(written++));
  EXPECT_FALSE(writer->flush(std::chrono::milliseconds(10)));
  writer.reset();
}

INSTANTIATE_TEST_SUITE_P(Each, LogWriterOn, ::testing::Values(Kind::pipe, Kind::pipe_of_another_user, Kind::socket));

TEST(LogWriter, after_half_a_line_that_the_disk_had_room_for_the_next_one_begins_on_a_line_of_its_own) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is a full disk: a short write, and then an error
  const std::string path =
      (std::filesystem::temp_directory_path() / ("viewgate_log_" + std::to_string(::getpid()))).string();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  std::uint64_t lost = 0;
  {
    LogWriter writer(file, waiting_bytes_max, account);
    writer.write("first\n");
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{10, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    writer.write("second\n");
    writer.write("third\n");
    lost = writer.lost();
    ::setrlimit(RLIMIT_FSIZE, &before);
    writer.write("fourth\n");
    writer.write("fifth\n");
  }
  EXPECT_EQ(lost, 2U);
  std::ifstream text(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(text), {}), "first\nseco\nlost 2\nfourth\nfifth\n");
  ::close(file);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace viewgate::gateway::log
