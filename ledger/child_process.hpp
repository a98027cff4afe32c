// Programs that run under another account than ours: PostgreSQL's, which refuse to run as root.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ledger/error.hpp"

namespace viewgate::ledger {

/// Who runs PostgreSQL.
struct Account {
  uid_t uid;
  gid_t gid;
  std::string name;
  bool change;  ///< we are root and step down to it
};

/// Ours, or where we are root: postgres, else nobody. Errors: unsuitable_database where there is neither.
[[nodiscard]] Result<Account> account_for_postgres();

/// In a forked child: become the account. Only async-signal-safe calls, apart from setgroups' wrapper.
[[nodiscard]] bool become(const Account& account);

/// In a forked child: sends its output to the log and its input from nowhere.
void redirect(const char* log);

/// The arguments of exec, made before fork.
class Command {
 public:
  explicit Command(std::vector<std::string> words);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  /// Exits with 127 where there is no such program.
  [[noreturn]] void exec() const;

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

/// Runs a program to its end as the account, from the root directory; false unless it exits with 0.
[[nodiscard]] bool run_as(const Command& command, const Account& account, const std::string& log);

/// Can the account enter the directory? Asked of the kernel, by trying.
[[nodiscard]] bool reachable(const std::filesystem::path& directory, const Account& account);

/// Makes a directory that only the account may enter, or takes over one that already is exactly that.
[[nodiscard]] Result<void> make_private_directory(const std::filesystem::path& path, const Account& account);

}  // namespace viewgate::ledger
