#include "ledger/receipt_text.hpp"

#include "ledger/record_text.hpp"

namespace viewgate::ledger {
namespace {

std::string_view name_of(const std::optional<ChangeKind>& kind) {
  if (!kind) return "unchanged";
  switch (*kind) {
    case ChangeKind::created:
      return "created";
    case ChangeKind::updated:
      return "updated";
    case ChangeKind::deleted:
      return "deleted";
    case ChangeKind::moved:
    case ChangeKind::erased:  // mutations make neither
      break;
  }
  return "unchanged";
}

/// Sequences are strings for readers whose numbers end at 2^53.
std::string quoted_versions(const GroupVersions& versions) {
  std::string out = "{";
  for (const auto& [group, version] : versions) {
    if (out.size() > 1) out += ',';
    out += quoted(group) + ":\"" + std::to_string(version) + '"';
  }
  return out += '}';
}

std::string head_of(const MutationRequest& request, Sequence sequence, Outcome outcome) {
  return R"({"outcome":")" + std::string(name(outcome)) + R"(","client":)" + quoted(request.client) + R"(,"number":")" +
         std::to_string(request.number) + R"(","sequence":")" + std::to_string(sequence.value) + '"';
}

}  // namespace

std::string applied_text(const MutationRequest& request, Sequence sequence, Outcome outcome,
                         const std::vector<Acknowledgement>& acknowledgements) {
  std::string out = head_of(request, sequence, outcome) + R"(,"acknowledgement":[)";
  for (const Acknowledgement& each : acknowledgements) {
    if (out.back() == '}') out += ',';
    out += R"({"collection":)" + quoted(each.collection) + R"(,"key":)" + each.key + R"(,"kind":")";
    out.append(name_of(each.kind)) += R"(","versions":)" + quoted_versions(each.versions) + '}';
  }
  return out + "]}";
}

std::string rejected_text(const MutationRequest& request, Sequence sequence, const Refused& refused) {
  std::string out = head_of(request, sequence, Outcome::rejected) + R"(,"reason":")";
  out.append(name(refused.rejection.reason)) += R"(","detail":)" + quoted(refused.rejection.detail);
  out += R"(,"mutation":)" + std::to_string(refused.mutation);
  if (!refused.moved.empty()) out += R"(,"groups":)" + quoted_versions(refused.moved);
  return out += '}';
}

}  // namespace viewgate::ledger
