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

enum class Algorithm : std::uint8_t { hs256, hs384, hs512, rs256, ps256, es256, eddsa };

/// As in a token's header: "HS256", "EdDSA".
[[nodiscard]] std::string_view name(Algorithm algorithm);
[[nodiscard]] std::optional<Algorithm> algorithm_named(std::string_view name);
/// One secret signs and verifies.
[[nodiscard]] bool is_symmetric(Algorithm algorithm);

/// A key as configuration has it. `material`: the secret's bytes (HS…, at least as many as the hash has), or PEM text (the
/// others; RSA of at least 2048 bits, P-256, Ed25519): the public key to verify, the private key to mint.
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
  Key(std::string id, Algorithm algorithm, std::unique_ptr<Jwk> jwk);
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
  /// Nobody's tokens are accepted until there is another one.
  KeySet() = default;
  /// Throws std::invalid_argument: a key is not usable, two keys have the same id, or there is none.
  explicit KeySet(const std::vector<KeyConfig>& keys);
  /// Keys that were checked already.
  explicit KeySet(std::vector<Key> keys) : keys_(std::move(keys)) {}

  /// The keys to try for a token: the one with that id; without an id those of that algorithm, the first few. `kid` is
  /// compared with the known ids and used for nothing else.
  [[nodiscard]] std::vector<const Key*> candidates(std::optional<std::string_view> kid, Algorithm algorithm) const;
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  std::vector<Key> keys_;
};

}  // namespace viewgate::auth
