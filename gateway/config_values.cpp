#include "gateway/config_values.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "gateway/handshake.hpp"
#include "gateway/proxies.hpp"
#include "ledger/pg/conninfo.hpp"

namespace viewgate::gateway {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array duration_units{Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000}};
constexpr std::array byte_units{Unit{"", 1}, Unit{"KiB", 1LL << 10}, Unit{"MiB", 1LL << 20}, Unit{"GiB", 1LL << 30}};
constexpr std::array count_units{Unit{"", 1}};

std::span<const Unit> units_of(SettingKind kind) {
  switch (kind) {
    case SettingKind::duration:
      return duration_units;
    case SettingKind::bytes:
      return byte_units;
    case SettingKind::text:
    case SettingKind::conninfo:
    case SettingKind::choice:
    case SettingKind::origins:
    case SettingKind::networks:
    case SettingKind::count:
    case SettingKind::endpoint:
      return count_units;
  }
  return count_units;
}

std::optional<std::int64_t> parse_number(SettingKind kind, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& candidate : units_of(kind)) {
    std::int64_t out = 0;
    if (candidate.name == unit && !__builtin_mul_overflow(number, candidate.factor, &out)) return out;
  }
  return std::nullopt;
}

std::string print_number(SettingKind kind, std::int64_t value) {
  const auto units = units_of(kind);
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const bool fits = value != 0 && value % unit->factor == 0;
    if (fits || unit + 1 == units.rend()) return std::to_string(value / unit->factor) + std::string(unit->name);
  }
  return {};
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::optional<std::string> store_value(Config& config, const Setting& setting, std::string_view raw) {
  const auto text = trim(raw);
  switch (setting.kind) {
    case SettingKind::text:
      config.*std::get<std::string Config::*>(setting.member) = text;
      return std::nullopt;
    case SettingKind::conninfo:
      if (!ledger::pg::is_conninfo(std::string(text))) return allowed_text(setting);
      config.*std::get<std::string Config::*>(setting.member) = text;
      return std::nullopt;
    case SettingKind::endpoint:
      if (!parse_endpoint(text)) return allowed_text(setting);
      config.*std::get<std::string Config::*>(setting.member) = text;
      return std::nullopt;
    case SettingKind::choice: {
      const auto choices = split(setting.choices, '|');
      if (std::find(choices.begin(), choices.end(), text) == choices.end()) return allowed_text(setting);
      config.*std::get<std::string Config::*>(setting.member) = text;
      return std::nullopt;
    }
    case SettingKind::origins:
    case SettingKind::networks: {
      auto& list = config.*std::get<std::vector<std::string> Config::*>(setting.member);
      list.clear();
      for (const auto part : split(text, ',')) {
        if (const auto item = trim(part); !item.empty()) list.emplace_back(item);
      }
      const bool is_right = std::ranges::all_of(list, setting.kind == SettingKind::origins ? is_origin : is_network);
      return is_right ? std::nullopt : std::optional(allowed_text(setting));
    }
    case SettingKind::count:
    case SettingKind::bytes:
    case SettingKind::duration:
      break;
  }
  const auto number = parse_number(setting.kind, text);
  if (!number || *number < setting.min || *number > setting.max) return allowed_text(setting);
  if (const auto* member = std::get_if<std::int64_t Config::*>(&setting.member)) {
    config.** member = *number;
  } else {
    config.*std::get<std::chrono::milliseconds Config::*>(setting.member) = std::chrono::milliseconds(*number);
  }
  return std::nullopt;
}

std::string allowed_text(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::text:
      return "text";
    case SettingKind::conninfo:
      return "a connection string, as postgresql://user@host:5432/name (@ : / % and the like in a password are "
             "percent-encoded) or host=… dbname=… (blanks in quotes); psql must take it";
    case SettingKind::origins:
      return "a list of origins, separated by commas, letter by letter as browsers send them: https://app.example or "
             "http://localhost:3000, in lower case, without a path, and without the port that goes without saying";
    case SettingKind::networks:
      return "a list of networks, separated by commas, as 10.0.0.0/8, 192.0.2.7 or fd00::/8";
    case SettingKind::endpoint:
      return "an address, not a name, and a port, for example 127.0.0.1:8080 or [::1]:0";
    case SettingKind::choice: {
      std::string out = "one of ";
      const auto choices = split(setting.choices, '|');
      for (std::size_t i = 0; i < choices.size(); ++i) out += (i == 0 ? "" : ", ") + std::string(choices[i]);
      return out;
    }
    case SettingKind::count:
    case SettingKind::bytes:
    case SettingKind::duration:
      break;
  }
  return print_number(setting.kind, setting.min) + " to " + print_number(setting.kind, setting.max);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto number = parse_number(SettingKind::duration, text);
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(*number);
}

namespace {

/// An IPv6 address may have a zone: fe80::1%eth0.
bool is_address(std::string_view text, int family) {
  const std::string number(text.substr(0, family == AF_INET6 ? text.find('%') : std::string_view::npos));
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(family, number.c_str(), bytes.data()) == 1;
}

}  // namespace

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  auto address = text.substr(0, colon);
  const bool bracketed = address.starts_with('[') && address.ends_with(']');
  if (bracketed) address = address.substr(1, address.size() - 2);
  if (address.empty() || (!bracketed && address.find(':') != std::string_view::npos)) return std::nullopt;
  // What a name stands for may change, and there may be several: whoever listens says which one.
  if (!is_address(address, bracketed ? AF_INET6 : AF_INET)) return std::nullopt;
  const auto port_text = text.substr(colon + 1);
  Endpoint out;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), out.port);
  if (error != std::errc{} || end != port_text.data() + port_text.size()) return std::nullopt;
  out.address = address;
  return out;
}

}  // namespace viewgate::gateway
