#include "gateway/ws_codec.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace viewgate::gateway {
namespace {

constexpr std::uint8_t final_bit = 0x80;
constexpr std::uint8_t reserved_bits = 0x70;
constexpr std::uint8_t mask_bit = 0x80;
constexpr std::size_t control_payload_max = 125;
constexpr std::uint8_t length_in_16_bits = 126;
constexpr std::uint8_t length_in_64_bits = 127;

constexpr std::uint8_t code_of(WsOpcode opcode) { return static_cast<std::uint8_t>(opcode); }

constexpr bool is_control(std::uint8_t opcode) { return opcode >= code_of(WsOpcode::close); }

constexpr bool is_known(std::uint8_t opcode) {
  return opcode <= code_of(WsOpcode::binary) ||
         (opcode >= code_of(WsOpcode::close) && opcode <= code_of(WsOpcode::pong));
}

// RFC 6455 section 7.4 and the IANA registry: 1004 to 1006 and 1015 never travel, 1016 to 2999 are not assigned.
constexpr bool may_travel(std::uint16_t code) {
  if (code >= 1000 && code <= 1003) return true;
  if (code >= 1007 && code <= 1014) return true;
  return code >= 3000 && code <= 4999;
}

// Gives the memory back: assigning an empty string would keep it.
void release(std::string& text) { std::string().swap(text); }

// XORs the payload with the mask, beginning at byte `offset` of the frame's payload.
void unmask(std::span<char> bytes, const std::array<std::uint8_t, 4>& mask, std::uint64_t offset) {
  std::array<std::uint8_t, 8> turned{};
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = mask[(offset + i) % mask.size()];
  std::uint64_t eight_mask = 0;
  std::memcpy(&eight_mask, turned.data(), sizeof(eight_mask));
  std::size_t at = 0;
  for (; at + sizeof(eight_mask) <= bytes.size(); at += sizeof(eight_mask)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + at, sizeof(eight));
    eight ^= eight_mask;
    std::memcpy(bytes.data() + at, &eight, sizeof(eight));
  }
  for (std::size_t i = 0; at < bytes.size(); ++at, ++i) {
    bytes[at] = static_cast<char>(static_cast<std::uint8_t>(bytes[at]) ^ turned[i]);
  }
}

// The header of a frame that is whole (FIN set): 2, 4 or 10 bytes.
WsFrameHeader make_header(std::uint8_t opcode, std::uint64_t payload_bytes, std::uint8_t masked) {
  WsFrameHeader header;
  const auto put = [&header](std::uint64_t byte) { header.bytes[header.size++] = static_cast<char>(byte & 0xFFU); };
  put(final_bit | opcode);
  if (payload_bytes <= control_payload_max) {
    put(masked | payload_bytes);
  } else if (payload_bytes <= 0xFFFF) {
    put(masked | length_in_16_bits);
    for (int shift = 8; shift >= 0; shift -= 8) put(payload_bytes >> shift);
  } else {
    put(masked | length_in_64_bits);
    for (int shift = 56; shift >= 0; shift -= 8) put(payload_bytes >> shift);
  }
  return header;
}

void append_control(std::string& out, WsOpcode opcode, std::string_view payload) {
  assert(payload.size() <= control_payload_max);
  out += make_header(code_of(opcode), payload.size(), 0).view();
  out += payload;
}

}  // namespace

std::optional<WsEvent> WsReader::next(std::span<char>& input) {
  if (std::exchange(delivered_message_, false)) release(message_);
  if (std::exchange(delivered_control_, false)) release(control_);
  while (!ended_) {
    std::optional<WsEvent> event = in_payload_ ? read_payload(input) : read_header(input);
    if (event) return event;
    // A frame without payload ends with its header, so an empty input is no reason to stop before that.
    if (input.empty() && !(in_payload_ && payload_done_ == payload_size_)) return std::nullopt;
  }
  input = {};
  return std::nullopt;
}

WsEvent WsReader::fail(std::uint16_t code, std::string_view why) {
  ended_ = true;
  release(message_);
  release(control_);
  return {WsEvent::Kind::failure, why, code};
}

std::optional<WsEvent> WsReader::read_header(std::span<char>& input) {
  while (!input.empty()) {
    header_[header_size_++] = static_cast<std::uint8_t>(input.front());
    input = input.subspan(1);
    if (header_size_ < 2) continue;
    if (header_size_ == 2) {
      if (auto failure = check_first_two()) return failure;
    }
    const std::uint8_t short_length = header_[1] & 0x7FU;
    const std::size_t length_bytes = short_length == length_in_64_bits ? 8 : short_length == length_in_16_bits ? 2 : 0;
    if (header_size_ == 2 + length_bytes) {
      if (auto failure = check_length(length_bytes)) return failure;
    }
    const std::size_t mask_bytes = role_ == WsRole::server ? mask_.size() : 0;
    if (header_size_ == 2 + length_bytes + mask_bytes) {
      std::copy_n(header_.begin() + static_cast<std::ptrdiff_t>(2 + length_bytes), mask_bytes, mask_.begin());
      header_size_ = 0;
      in_payload_ = true;
      payload_done_ = 0;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<WsEvent> WsReader::check_first_two() {
  constexpr auto wrong = close_code::protocol_error;
  final_ = (header_[0] & final_bit) != 0;
  opcode_ = header_[0] & 0x0FU;
  if ((header_[0] & reserved_bits) != 0) return fail(wrong, "a reserved bit is set; no extension was negotiated");
  if (!is_known(opcode_)) return fail(wrong, "an opcode that RFC 6455 does not define");
  if (((header_[1] & mask_bit) != 0) != (role_ == WsRole::server)) {
    return fail(wrong,
                role_ == WsRole::server ? "a frame of a client that is not masked" : "a masked frame of a server");
  }
  if (is_control(opcode_)) {
    if (!final_) return fail(wrong, "a fragmented control frame");
    if ((header_[1] & 0x7FU) > control_payload_max) return fail(wrong, "a control frame of more than 125 bytes");
    return std::nullopt;
  }
  const bool continues = opcode_ == code_of(WsOpcode::continuation);
  if (continues && fragments_ == 0) return fail(wrong, "a continuation of no message");
  if (!continues && fragments_ > 0) return fail(wrong, "a new message inside a fragmented one");
  if (opcode_ == code_of(WsOpcode::binary)) {
    return fail(close_code::unsupported_data, "a binary message; this protocol is text");
  }
  if (fragments_ == limits_.message_fragments) {
    return fail(close_code::policy_violation, "a message of too many fragments");
  }
  return std::nullopt;
}

std::optional<WsEvent> WsReader::check_length(std::size_t length_bytes) {
  constexpr auto wrong = close_code::protocol_error;
  payload_size_ = length_bytes == 0 ? header_[1] & 0x7FU : 0;
  for (std::size_t i = 0; i < length_bytes; ++i) payload_size_ = payload_size_ << 8 | header_[2 + i];
  if (length_bytes == 2 && payload_size_ < length_in_16_bits)
    return fail(wrong, "a length in more bytes than it needs");
  if (length_bytes == 8 && payload_size_ <= 0xFFFF) return fail(wrong, "a length in more bytes than it needs");
  if (payload_size_ >> 63 != 0) return fail(wrong, "a length whose most significant bit is set");
  if (!is_control(opcode_) && payload_size_ > limits_.message_bytes - message_.size()) {
    return fail(close_code::message_too_big, "a message that is larger than allowed");
  }
  return std::nullopt;
}

std::optional<WsEvent> WsReader::read_payload(std::span<char>& input) {
  const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(payload_size_ - payload_done_, input.size()));
  const std::span<char> bytes = input.first(take);
  if (role_ == WsRole::server) unmask(bytes, mask_, payload_done_);
  input = input.subspan(take);
  const bool whole = payload_done_ == 0 && take == payload_size_;
  payload_done_ += take;
  const bool frame_ended = payload_done_ == payload_size_;
  in_payload_ = !frame_ended;
  const std::string_view piece{bytes.data(), bytes.size()};

  if (is_control(opcode_)) {
    if (whole) return end_control_frame(piece);
    control_ += piece;
    if (!frame_ended) return std::nullopt;
    delivered_control_ = true;
    return end_control_frame(control_);
  }
  if (!utf8_.feed(piece)) return fail(close_code::invalid_payload, "text that is not UTF-8");
  if (frame_ended && final_) {
    if (!utf8_.complete()) return fail(close_code::invalid_payload, "text that ends inside a character");
    const bool in_place = whole && fragments_ == 0;
    fragments_ = 0;
    utf8_.reset();
    if (in_place) return WsEvent{WsEvent::Kind::message, piece};
    message_ += piece;
    delivered_message_ = true;
    return WsEvent{WsEvent::Kind::message, message_};
  }
  message_ += piece;
  if (frame_ended) ++fragments_;
  return std::nullopt;
}

WsEvent WsReader::end_control_frame(std::string_view payload) {
  if (opcode_ == code_of(WsOpcode::ping)) return {WsEvent::Kind::ping, payload};
  if (opcode_ == code_of(WsOpcode::pong)) return {WsEvent::Kind::pong, payload};
  return end_close_frame(payload);
}

WsEvent WsReader::end_close_frame(std::string_view payload) {
  if (payload.empty()) {
    ended_ = true;
    return {WsEvent::Kind::close, {}, 0};
  }
  if (payload.size() == 1) return fail(close_code::protocol_error, "a close frame with half a code");
  const auto code =
      static_cast<std::uint16_t>(static_cast<std::uint8_t>(payload[0]) << 8 | static_cast<std::uint8_t>(payload[1]));
  if (!may_travel(code)) return fail(close_code::protocol_error, "a close code that may not be sent");
  const std::string_view reason = payload.substr(2);
  if (!is_utf8(reason)) return fail(close_code::invalid_payload, "a close reason that is not UTF-8");
  ended_ = true;
  return {WsEvent::Kind::close, reason, code};
}

WsFrameHeader ws_text_header(std::uint64_t payload_bytes) {
  return make_header(code_of(WsOpcode::text), payload_bytes, 0);
}

void append_ws_text(std::string& out, std::string_view payload) {
  out += ws_text_header(payload.size()).view();
  out += payload;
}

void append_ws_ping(std::string& out, std::string_view payload) { append_control(out, WsOpcode::ping, payload); }

void append_ws_pong(std::string& out, std::string_view payload) { append_control(out, WsOpcode::pong, payload); }

void append_ws_close(std::string& out, std::uint16_t code, std::string_view reason) {
  assert(may_travel(code));
  std::string payload;
  payload += static_cast<char>(code >> 8);
  payload += static_cast<char>(code & 0xFF);
  payload += utf8_prefix(reason, control_payload_max - 2);
  append_control(out, WsOpcode::close, payload);
}

void append_ws_masked(std::string& out, WsOpcode opcode, std::string_view payload, std::uint32_t mask) {
  std::array<std::uint8_t, 4> mask_bytes{};
  std::memcpy(mask_bytes.data(), &mask, mask_bytes.size());
  out += make_header(code_of(opcode), payload.size(), mask_bit).view();
  for (const std::uint8_t byte : mask_bytes) out += static_cast<char>(byte);
  const std::size_t begin = out.size();
  out += payload;
  unmask(std::span<char>{out}.subspan(begin), mask_bytes, 0);
}

}  // namespace viewgate::gateway
