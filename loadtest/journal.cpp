#include "loadtest/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace viewgate::loadtest {

namespace {

constexpr std::size_t header_bytes = 16;

/// FNV-1a: against torn writes, not against forgery.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return out;
}

std::string entry(std::string_view payload) {
  std::string out(header_bytes, '\0');
  const std::uint64_t length = payload.size(), sum = checksum(payload);
  std::memcpy(out.data(), &length, sizeof(length));
  std::memcpy(out.data() + sizeof(length), &sum, sizeof(sum));
  out += payload;
  return out;
}

void apply_document(std::string_view text, Fold& fold) {
  std::vector<Member> document;
  if (!members(text, document)) throw std::runtime_error("the journal holds what is not a document");
  const auto plain = [&](std::string_view name) { return unquoted(member(document, name)); };
  const std::string_view type = plain("type");
  const std::int64_t sequence = integer(member(document, "sequence")).value_or(0);
  if (type == "subscribed") {
    fold.lost();
    fold.subscribed(plain("context"), plain("resumed") == "true");
  } else if (type == "snapshot") {
    fold.snapshot(member(document, "records"));
  } else if (type == "ready") {
    fold.ready(sequence, plain("position"), integer(member(document, "head")).value_or(sequence));
  } else if (type == "commit") {
    fold.commit(sequence, plain("position"), member(document, "events"), plain("last") != "false");
  } else if (type == "progress") {
    fold.progress(sequence, plain("position"));
  } else if (type == "reset_required") {
    fold.reset_required();
  }
}

/// Applies the whole entries; returns where they end.
std::size_t replay(std::string_view bytes, Fold& fold) {
  std::size_t at = 0;
  while (bytes.size() - at >= header_bytes) {
    std::uint64_t length = 0, sum = 0;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    std::memcpy(&sum, bytes.data() + at + sizeof(length), sizeof(sum));
    if (length > bytes.size() - at - header_bytes) break;
    std::string_view payload = bytes.substr(at + header_bytes, length);
    if (checksum(payload) != sum) break;
    while (!payload.empty()) {
      const std::size_t end = payload.find('\n');
      apply_document(payload.substr(0, end), fold);
      payload.remove_prefix(end == std::string_view::npos ? payload.size() : end + 1);
    }
    at += header_bytes + length;
  }
  fold.lost();
  return at;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(errno));
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void sync_directory_of(const std::string& path) {
  const std::string directory = std::filesystem::absolute(path).parent_path().string();
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(directory, "open");
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Journal::Journal(std::string path, Fold& fold) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd_ < 0) fail(path_, "open");
  const std::string bytes = contents(path_);
  size_ = replay(bytes, fold);
  if (size_ < bytes.size() && ::ftruncate(fd_, static_cast<off_t>(size_)) != 0) fail(path_, "truncate");
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

void Journal::read(const std::string& path, Fold& fold) { replay(contents(path), fold); }

void Journal::take(std::string_view type, std::string_view text, bool last) {
  if (type != "subscribed" && type != "snapshot" && type != "ready" && type != "commit" && type != "progress" &&
      type != "reset_required") {
    return;
  }
  if (!step_.empty()) step_ += '\n';
  step_ += text;
  const bool whole = type == "ready" || type == "progress" || (type == "commit" && last);
  if (!whole) return;
  append(step_);
  step_.clear();
}

void Journal::append(std::string_view payload) {
  const std::string bytes = entry(payload);
  write_all(fd_, bytes, path_);
  if (::fdatasync(fd_) != 0) fail(path_, "fdatasync");
  size_ += bytes.size();
}

void Journal::shrink(const Fold& fold, std::uint64_t bytes_max) {
  if (size_ <= bytes_max || !fold.live() || !step_.empty()) return;
  std::string payload =
      R"({"type":"subscribed","context":")" + fold.context() + "\"}\n" + R"({"type":"snapshot","records":[)";
  bool first = true;
  for (const auto& [key, record] : fold.records()) {
    payload.append(first ? R"({"key":)" : R"(,{"key":)");
    payload.append(key).append(R"(,"record":)").append(record).append("}");
    first = false;
  }
  payload += "]}\n" + std::string(R"({"type":"ready","sequence":")") + std::to_string(fold.sequence()) +
             R"(","position":")" + fold.position() + "\"}";
  const std::string beside = path_ + ".new";
  const int fd = ::open(beside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) fail(beside, "open");
  const std::string bytes = entry(payload);
  write_all(fd, bytes, beside);
  if (::fsync(fd) != 0) fail(beside, "fsync");
  if (::rename(beside.c_str(), path_.c_str()) != 0) fail(beside, "rename");
  sync_directory_of(path_);
  ::close(fd_);
  fd_ = fd;
  size_ = bytes.size();
}

}  // namespace viewgate::loadtest
