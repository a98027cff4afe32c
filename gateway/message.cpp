#include "gateway/message.hpp"

#include <cassert>

#include "gateway/ws_codec.hpp"

namespace viewgate::gateway {

namespace {
constexpr std::size_t pieces_max = 256;  // well below what one writev takes
constexpr std::size_t pieces_reserved = 2;
}  // namespace

void Message::clear() {
  documents_bytes_ = 0;
  pieces_.assign(pieces_reserved, {});
  owned_.clear();
  kept_.clear();
  before_.clear();
  after_.clear();
  header_.clear();
}

std::size_t Message::room() const {
  if (documents_bytes_ >= bytes_max_ || pieces_.size() >= pieces_max) return 0;
  return bytes_max_ - documents_bytes_;
}

void Message::add(std::string_view documents) {
  assert(documents.empty() || documents.back() == '\n');
  if (documents.empty()) return;
  documents_bytes_ += documents.size();
  pieces_.push_back(documents);
}

void Message::own(std::string documents) {
  if (documents.empty()) return;
  add(owned_.emplace_back(std::move(documents)));
}

std::span<const std::string_view> Message::finish() {
  pieces_[0] = before_;
  if (has_documents()) {
    pieces_.back().remove_suffix(1);  // a newline separates documents; it does not end the message
    header_ = ws_text_header(documents_bytes_ - 1).view();
    pieces_[1] = header_;
  }
  if (!after_.empty()) pieces_.push_back(after_);
  std::erase_if(pieces_, [](std::string_view piece) { return piece.empty(); });
  return pieces_;
}

}  // namespace viewgate::gateway
