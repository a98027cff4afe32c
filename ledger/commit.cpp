#include "ledger/commit.hpp"

namespace viewgate::ledger {
namespace {

std::size_t size_of(const std::optional<std::string>& text) { return text ? text->size() : 0; }

}  // namespace

std::size_t bytes_of(const Change& change) {
  std::size_t out = sizeof(Change) + change.collection.size() + change.key.size();
  out += size_of(change.before) + size_of(change.after);
  for (const std::string& group : change.groups) out += sizeof(std::string) + group.size();
  return out;
}

std::size_t bytes_of(const Provenance& provenance) {
  return provenance.source.size() + provenance.role.size() + provenance.at.size() + provenance.principal.size() +
         provenance.client.size() + provenance.request_id.size() + provenance.fields.size();
}

std::size_t bytes_of(const CommitReceipt& receipt) { return receipt.text.size() + receipt.body.size(); }

std::size_t bytes_of(const CommitPart& part) {
  std::size_t out = sizeof(CommitPart) + part.space.size() + bytes_of(part.provenance);
  if (part.receipt) out += bytes_of(*part.receipt);
  for (const Change& change : part.changes) out += bytes_of(change);
  return out;
}

}  // namespace viewgate::ledger
