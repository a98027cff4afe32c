// The keys whose tokens are accepted, each pinned to one algorithm by configuration: what a token's header says about
// its algorithm is compared, never believed. Immutable after construction; shared by all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::auth {

enum class Algorithm : std::uint8_t { hs256, rs256 };

/// As in a token's header: "HS256", "RS256".
[[nodiscard]] std::string_view name(Algorithm algorithm);
[[nodiscard]] std::optional<Algorithm> algorithm_named(std::string_view name);

/// A key as configuration has it. `material`: the secret's bytes (hs256, at least 32), or PEM text (rs256, at least
/// 2048 bits): the public key to verify, the private key to mint.
struct KeyConfig {
  std::string id;  ///< `kid` of the tokens; may be empty when it is the only key
  Algorithm algorithm = Algorithm::hs256;
  std::string material;
};

/// One imported key; `Jwk` hides the library's type.
class Key {
 public:
  struct Jwk;

  /// Throws std::invalid_argument that names the key and what would be right; never shows the material.
  explicit Key(const KeyConfig& config);
  ~Key();
  Key(Key&&) noexcept;
  Key& operator=(Key&&) noexcept;

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Algorithm algorithm() const { return algorithm_; }
  [[nodiscard]] bool is_private() const { return private_; }
  [[nodiscard]] Jwk& jwk() const { return *jwk_; }

 private:
  std::string id_;
  Algorithm algorithm_;
  bool private_ = false;
  std::unique_ptr<Jwk> jwk_;
};

class KeySet {
 public:
  /// Throws std::invalid_argument: a key is not usable, two keys have the same id, or there is none.
  explicit KeySet(const std::vector<KeyConfig>& keys);

  /// The keys to try for a token: the one with that id; without an id all of that algorithm. `kid` is compared with the
  /// configured ids and used for nothing else.
  [[nodiscard]] std::vector<const Key*> candidates(std::optional<std::string_view> kid, Algorithm algorithm) const;

 private:
  std::vector<Key> keys_;
};

}  // namespace viewgate::auth
