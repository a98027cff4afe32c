#include "gateway/signing_key.hpp"

#include <fcntl.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "gateway/commands.hpp"
#include "gateway/errors.hpp"

namespace viewgate::gateway {
namespace {

std::string random_text() {
  std::array<unsigned char, 32> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Stop(ExitStatus::failed, "no random bytes for a signing key");
  }
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const auto byte : bytes) {
    out += hex[byte >> 4];
    out += hex[byte & 0xf];
  }
  return out;
}

/// Two programs may start at once: the file is written under another name and linked, so that the first one wins whole.
void make_key(const std::filesystem::path& path) {
  const auto draft = path.string() + "." + std::to_string(::getpid());
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const std::string text = random_text();
  const bool written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) ::close(file);
  const bool linked = written && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  ::unlink(draft.c_str());
  if (!linked) throw Stop(ExitStatus::no_input, path.string() + " cannot be written");
}

}  // namespace

std::string key_material(std::string text, auth::Algorithm algorithm) {
  while (auth::is_symmetric(algorithm) && (text.ends_with('\n') || text.ends_with('\r'))) text.pop_back();
  return text;
}

std::string admin_credential(const Config& config) {
  constexpr std::size_t bytes_min = 16;
  std::string out =
      key_material(read_named_file(config, "admin.key_file", config.admin_key_file), auth::Algorithm::hs256);
  const bool is_printable = std::ranges::all_of(out, [](char c) { return c > ' ' && c <= '~'; });
  if (out.size() >= bytes_min && is_printable) return out;
  throw Stop(ExitStatus::config, place_of(config, "admin.key_file") +
                                     " must hold at least 16 printable characters without blanks, in one line, which " +
                                     config.admin_key_file + " does not");
}

auth::KeyConfig signing_key(const Config& config) {
  const auto algorithm = auth::algorithm_named(config.auth_algorithm);
  auth::KeyConfig out;
  out.algorithm = algorithm.value_or(auth::Algorithm::hs256);
  if (!config.auth_key_file.empty()) {
    out.material = read_named_file(config, "auth.key_file", config.auth_key_file);
  } else if (!config.embedded.empty() && out.algorithm == auth::Algorithm::hs256) {
    const auto path = std::filesystem::path(config.embedded) / "signing.key";
    if (!std::filesystem::exists(path)) make_key(path);
    out.material = read_small_file(path.string(), config.files);
  } else {
    throw Stop(ExitStatus::config, "auth.key_file must name the file with the key of the tokens' issuer");
  }
  out.material = key_material(std::move(out.material), out.algorithm);
  return out;
}

}  // namespace viewgate::gateway
