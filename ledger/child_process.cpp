#include "ledger/child_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace viewgate::ledger {
namespace fs = std::filesystem;

namespace {

Error unsuitable(std::string detail) { return Error{errc::unsuitable_database, "", std::move(detail)}; }

bool ended_well(pid_t pid) {
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Result<Account> account_for_postgres() {
  if (geteuid() != 0) return Account{geteuid(), getegid(), "", false};
  for (const char* name : {"postgres", "nobody"}) {
    const passwd* entry = getpwnam(name);
    if (entry != nullptr) return Account{entry->pw_uid, entry->pw_gid, name, true};
  }
  return unsuitable("PostgreSQL refuses to run as root, and there is no user postgres or nobody");
}

bool become(const Account& account) {
  if (!account.change) return true;
  return setgroups(0, nullptr) == 0 && setgid(account.gid) == 0 && setuid(account.uid) == 0;
}

void redirect(const char* log) {
  const int null = open("/dev/null", O_RDONLY);
  const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (out >= 0) {
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
  }
}

Command::Command(std::vector<std::string> words) : words_(std::move(words)) {
  for (std::string& word : words_) pointers_.push_back(word.data());
  pointers_.push_back(nullptr);
}

void Command::exec() const {
  execv(pointers_.front(), pointers_.data());
  _exit(127);
}

bool run_as(const Command& command, const Account& account, const std::string& log) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (!become(account)) _exit(126);
    redirect(log.c_str());
    if (chdir("/") != 0) _exit(126);
    command.exec();
  }
  return ended_well(pid);
}

bool reachable(const fs::path& directory, const Account& account) {
  const std::string path = directory.string();
  const pid_t pid = fork();
  if (pid == 0) _exit(become(account) && chdir(path.c_str()) == 0 ? 0 : 1);
  return ended_well(pid);
}

Result<void> make_private_directory(const fs::path& path, const Account& account) {
  if (mkdir(path.c_str(), 0700) == 0) {
    if (chown(path.c_str(), account.uid, account.gid) == 0) return {};
    return unsuitable(path.string() + " cannot be given to user " + account.name);
  }
  struct stat info {};
  const bool ours = errno == EEXIST && lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                    info.st_uid == account.uid && (info.st_mode & 0077) == 0;
  if (ours) return {};
  return unsuitable(path.string() +
                    " cannot be made, or belongs to somebody else: it must be a directory with mode 0700");
}

}  // namespace viewgate::ledger
