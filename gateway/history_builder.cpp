#include "gateway/history_builder.hpp"

#include <utility>

#include "gateway/documents.hpp"

namespace viewgate::gateway {

bool HistoryBuilder::add(const projection::GroupEvents& events) {
  moved_to_ = events.last ? events.position : ledger::Position{};
  std::string document;
  append_events(document, *spec_, events, events.position);
  const bool is_in_memory = places_.empty() && text_.size() + document.size() <= room_.limits.history_commit_bytes;
  if (is_in_memory && charge_.grow(document.size())) {
    text_ += document;
    return true;
  }
  if (const auto place = file_->append(std::move(document), problem_)) {
    places_.push_back(*place);
    return true;
  }
  text_ = {};
  charge_ = {};
  places_ = {};
  return false;
}

std::shared_ptr<const History> HistoryBuilder::finish(ledger::Position through) {
  auto out = std::make_shared<History>();
  out->text = std::move(text_);
  out->charge = std::move(charge_);
  if (!places_.empty()) out->spilled = file_->texts(std::move(places_));
  out->through = through;
  out->position_token = spec_->sealer.seal(through);
  out->is_told = moved_to_ == through;
  return out;
}

}  // namespace viewgate::gateway
