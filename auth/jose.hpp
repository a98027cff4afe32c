// The libraries behind auth (rhonabwy for signatures, jansson for JSON) as owning types. Only auth's own .cpp files
// include it.
#pragma once

#include <jansson.h>
#include <rhonabwy.h>

#include <memory>
#include <string_view>

#include "auth/key_set.hpp"

namespace viewgate::auth {

struct JoseFree {
  void operator()(json_t* value) const { json_decref(value); }
  void operator()(jws_t* jws) const { r_jws_free(jws); }
  void operator()(char* text) const { r_free(text); }
};
using JsonPtr = std::unique_ptr<json_t, JoseFree>;  // also a jwk_t, which is one
using JwsPtr = std::unique_ptr<jws_t, JoseFree>;
using JoseText = std::unique_ptr<char, JoseFree>;

struct Key::Jwk {
  JsonPtr json;
};

/// Never fetch a key, whatever a header or a key says.
inline constexpr int no_remote = R_FLAG_IGNORE_REMOTE;

/// Initialises rhonabwy on first use.
[[nodiscard]] JwsPtr make_jws();

/// Null: not one JSON object in UTF-8, a member twice, U+0000, or a number that no integer or double holds.
[[nodiscard]] inline JsonPtr parse_object(std::string_view text) {
  JsonPtr value(json_loadb(text.data(), text.size(), JSON_REJECT_DUPLICATES, nullptr));
  return json_is_object(value.get()) ? std::move(value) : nullptr;
}

}  // namespace viewgate::auth
