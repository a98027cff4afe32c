// What one socket is about to be written: control frames and at most one text message of newline-separated documents,
// gathered from where the bytes already lie. One instance per reactor, used for one session at a time; pieces are valid
// until the next `clear`, as long as nothing is appended to a ring in between.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::gateway {

class Message {
 public:
  explicit Message(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void clear();

  /// Bytes of documents that still fit; 0 also where enough pieces were gathered.
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] bool has_documents() const { return documents_bytes_ > 0; }

  /// Whether documents of this size may be added: they fit, or nothing is in the message yet.
  [[nodiscard]] bool takes(std::size_t bytes) const { return !has_documents() || bytes <= room(); }

  /// Complete documents, each ended by a newline; borrowed.
  void add(std::string_view documents);
  /// The same, kept here. Null text is not added.
  void own(std::string documents);

  /// What documents were borrowed from, where its owner lets go of it before they are written.
  void keep(std::shared_ptr<const void> owner) { kept_.push_back(std::move(owner)); }

  /// Whole frames, before the text message and after it.
  void frames_before(std::string frames) { before_ = std::move(frames); }
  void frames_after(std::string frames) { after_ = std::move(frames); }

  /// Writes the header and cuts the final newline. The pieces to write, in order; empty: there is nothing to write.
  [[nodiscard]] std::span<const std::string_view> finish();

 private:
  const std::size_t bytes_max_;
  std::size_t documents_bytes_ = 0;
  std::vector<std::string_view> pieces_;  // the first two are for frames_before and the header
  std::deque<std::string> owned_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::string before_;
  std::string after_;
  std::string header_;
};

}  // namespace viewgate::gateway
