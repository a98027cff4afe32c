#include "ledger/mutation_form.hpp"

#include <algorithm>
#include <charconv>

#include "ledger/record_text.hpp"

namespace viewgate::ledger {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::string mutation_fault(const Mutation& mutation) {
  if (mutation.collection.empty() || mutation.collection.size() > 200) {
    return "the collection has no name, or one of over 200 bytes";
  }
  if (has_nul(mutation.collection) || has_nul(mutation.key) || has_nul(mutation.value)) return "it holds a NUL byte";
  if (mutation.kind == MutationKind::remove && !mutation.value.empty()) return "a delete has no value";
  for (const Base& base : mutation.bases) {
    if (base.version.value < 0) return "the base of " + quoted(base.group) + " is below 0";
  }
  return {};
}

}  // namespace

bool has_value(const Mutation& mutation) { return mutation.kind != MutationKind::remove; }

std::string request_fault(const MutationRequest& request) {
  if (request.number < 1) return "number " + std::to_string(request.number) + ": a client's requests count from 1";
  if (request.client.empty() || request.client.size() > 200) return "the client has no id, or one of over 200 bytes";
  if (request.principal.empty()) return "the principal is empty";
  if (request.request_id.size() > 200) return "the request id is over 200 bytes long";
  if (request.fields.size() > 4096) return "fields is over 4096 bytes long";
  if (request.mutations.empty() || request.mutations.size() > kMutationsMax) {
    return "a request has 1 to " + std::to_string(kMutationsMax) + " mutations, not " +
           std::to_string(request.mutations.size());
  }
  for (const std::string* text :
       {&request.space, &request.client, &request.principal, &request.request_id, &request.fields, &request.body}) {
    if (has_nul(*text)) return "it holds a NUL byte";
  }
  for (std::size_t i = 0; i < request.mutations.size(); ++i) {
    const std::string fault = mutation_fault(request.mutations[i]);
    if (!fault.empty()) return "mutation " + std::to_string(i) + ": " + fault;
  }
  return {};
}

std::vector<std::string> jsons_of(const std::vector<MutationToPlan>& requests) {
  std::vector<std::string> out;
  for (const MutationToPlan& asked : requests) {
    for (const Mutation& mutation : asked.request->mutations) {
      if (has_value(mutation)) out.push_back(mutation.value);
    }
    if (!asked.request->fields.empty()) out.push_back(asked.request->fields);
  }
  return out;
}

std::size_t jsons_count(const std::vector<MutationToPlan>& requests) {
  std::size_t out = 0;
  for (const MutationToPlan& asked : requests) {
    out += static_cast<std::size_t>(std::ranges::count_if(asked.request->mutations, has_value));
    if (!asked.request->fields.empty()) ++out;
  }
  return out;
}

std::string versions_text(const GroupVersions& versions) {
  std::string out = "{";
  for (const auto& [group, version] : versions) {
    if (out.size() > 1) out += ',';
    out += quoted(group) + ':' + std::to_string(version);
  }
  return out += '}';
}

GroupVersions versions_of(std::string_view json) {
  GroupVersions out;
  for (const RecordColumn& column : columns_of(json)) {
    std::int64_t version = 0;
    std::from_chars(column.value.data(), column.value.data() + column.value.size(), version);
    out.emplace(unquoted(column.quoted_name), version);
  }
  return out;
}

Outcome outcome_of(std::string_view receipt) {
  for (const Outcome outcome : {Outcome::applied, Outcome::no_op}) {
    if (receipt.starts_with(R"({"outcome":")" + std::string(name(outcome)) + '"')) return outcome;
  }
  return Outcome::rejected;
}

}  // namespace viewgate::ledger
