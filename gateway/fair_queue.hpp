// Those who wait, in turn by whose they are: each owner has one taken before any has a second, so whoever asks for much waits for
// itself alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace viewgate::gateway {

template <class Item>
class FairQueue {
 public:
  /// Behind the owner's others.
  void push(const std::string& owner, Item item) {
    const auto [lane, is_new] = lanes_.try_emplace(owner);
    if (is_new) turns_.push_back(owner);
    lane->second.push_back(std::move(item));
    ++size_;
  }

  /// Of the owner whose turn it is. Absent: nobody waits.
  [[nodiscard]] std::optional<Item> pop() {
    if (turns_.empty()) return std::nullopt;
    std::string owner = std::move(turns_.front());
    turns_.pop_front();
    const auto lane = lanes_.find(owner);
    Item out = std::move(lane->second.front());
    lane->second.pop_front();
    --size_;
    if (lane->second.empty()) {
      lanes_.erase(lane);
    } else {
      turns_.push_back(std::move(owner));
    }
    return out;
  }

  void erase(const std::string& owner, const Item& item) {
    const auto lane = lanes_.find(owner);
    if (lane == lanes_.end()) return;
    size_ -= std::erase(lane->second, item);
    if (!lane->second.empty()) return;
    lanes_.erase(lane);
    std::erase(turns_, owner);
  }

  void clear() {
    lanes_.clear();
    turns_.clear();
    size_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size_of(const std::string& owner) const {
    const auto lane = lanes_.find(owner);
    return lane == lanes_.end() ? 0 : lane->second.size();
  }

 private:
  std::unordered_map<std::string, std::deque<Item>> lanes_;  // none is empty
  std::deque<std::string> turns_;                            // their owners; the first is the next
  std::size_t size_ = 0;
};

}  // namespace viewgate::gateway
