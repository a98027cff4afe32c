// Files that an operator names: what is in the place of one must not hold up a node that runs, nor fill its memory.
#include "auth/named_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <thread>

#include "auth/key_source.hpp"

namespace viewgate::auth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NamedFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(path); }
  void make_pipe() const { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }
  /// What hinders it; empty: nothing.
  static std::string complaint(const std::string& of, FileKind kind, std::size_t bytes_max = 100) {
    try {
      static_cast<void>(read_named(of, kind, bytes_max));
      return "";
    } catch (const std::runtime_error& problem) {
      return problem.what();
    }
  }
  const std::string path = ::testing::TempDir() + "named-file." + std::to_string(::getpid());
};

TEST_F(NamedFile, it_is_read_whole_up_to_its_bound) {
  for (const FileKind kind : {FileKind::any, FileKind::regular}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, named_file_bytes_max}) {
      const std::string text(bytes, 'x');
      std::ofstream(path, std::ios::trunc) << text;
      EXPECT_EQ(read_named(path, kind, bytes), text);
    }
    std::ofstream(path, std::ios::app) << 'x';
    EXPECT_EQ(complaint(path, kind, named_file_bytes_max), path + " is larger than 1024 KiB");
    EXPECT_THAT(read_named("/proc/self/status", kind, named_file_bytes_max), HasSubstr("Pid:"));  // of no size
  }
}

TEST_F(NamedFile, a_node_that_runs_waits_for_no_pipe_and_opens_no_device) {
  make_pipe();
  EXPECT_THAT(complaint(path, FileKind::regular), AllOf(HasSubstr(path), HasSubstr("is no regular file")));
  EXPECT_THAT(complaint("/dev/zero", FileKind::regular), HasSubstr("/dev/zero is no regular file"));
  EXPECT_THAT(complaint("/dev/null", FileKind::regular), HasSubstr("/dev/null is no regular file"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  EXPECT_THAT(complaint(path, FileKind::regular), HasSubstr("is no regular file"));
}

TEST_F(NamedFile, what_cannot_be_read_is_named_whoever_reads) {
  for (const FileKind kind : {FileKind::any, FileKind::regular}) {
    EXPECT_EQ(complaint("/nowhere/file", kind), "/nowhere/file cannot be read");
    EXPECT_EQ(complaint(::testing::TempDir(), kind), ::testing::TempDir() + " is a directory");
  }
  EXPECT_THAT(complaint("/dev/zero", FileKind::any), HasSubstr("/dev/zero is larger than"));
}

TEST_F(NamedFile, a_start_waits_for_the_writer_of_a_pipe) {
  make_pipe();
  std::thread late([this] {
    std::ofstream pipe(path);
    pipe << "first " << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pipe << "second";
  });
  EXPECT_EQ(read_named(path, FileKind::any, 100), "first second");
  late.join();
}

TEST_F(NamedFile, a_pipe_in_the_place_of_a_key_set_holds_up_neither_its_thread_nor_the_end) {
  make_pipe();
  std::promise<std::string> told;
  {
    const std::vector<Algorithm> algorithms{Algorithm::eddsa};
    const KeySource source(
        {{0, "", path, algorithms}}, {},
        {[](std::size_t, const Jwks&) {}, [&](std::size_t, const std::string& reason) { told.set_value(reason); }});
    auto reason = told.get_future();
    const bool is_told = reason.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    if (!is_told) std::ofstream(path) << "{}";  // else the source would never end
    ASSERT_TRUE(is_told);
    EXPECT_THAT(reason.get(), AllOf(HasSubstr(path), HasSubstr("is no regular file")));
  }
}

}  // namespace
}  // namespace viewgate::auth
