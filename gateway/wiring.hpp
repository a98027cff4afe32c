// From the configuration to the options of each part. One place, so that a setting is looked for in one place.
#pragma once

#include "auth/key_source.hpp"
#include "auth/token_verifier.hpp"
#include "gateway/admin_door.hpp"
#include "gateway/admission.hpp"
#include "gateway/config.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/http_mutations.hpp"
#include "gateway/log_desk.hpp"
#include "gateway/reactor.hpp"
#include "gateway/view_desk.hpp"
#include "ledger/access_store.hpp"
#include "ledger/log_reader.hpp"
#include "ledger/mutator.hpp"
#include "ledger/preflight.hpp"
#include "ledger/revocation_watch.hpp"
#include "ledger/tailer.hpp"

namespace viewgate::gateway {

[[nodiscard]] std::size_t reactor_count(const Config& config);
[[nodiscard]] ReactorOptions reactor_options(const Config& config, std::size_t index, const Endpoint& endpoint);
[[nodiscard]] EngineLimits engine_limits(const Config& config);
/// How often the engine looks at its clock: ten times in the shortest of its intervals.
[[nodiscard]] std::chrono::milliseconds tick_interval(const Config& config);
[[nodiscard]] auth::Anonymous anonymous_of(const Config& config);
[[nodiscard]] AdmissionLimits admission_limits(const Config& config);
/// `credential`: of operators, read from its file.
[[nodiscard]] AdminOptions admin_options(const Config& config, std::string credential);
[[nodiscard]] ledger::AccessStoreOptions access_store_options(const Config& config);
[[nodiscard]] auth::KeySourceOptions key_source_options(const Config& config);
[[nodiscard]] ledger::RevocationWatchOptions revocation_options(const Config& config);
/// What the ledger tells, as the verifier takes it.
[[nodiscard]] std::vector<auth::Revocation> for_verifier(std::vector<ledger::Revocation> found);
[[nodiscard]] ledger::TailerOptions tailer_options(const Config& config, const Endpoint& endpoint);
[[nodiscard]] ledger::MutatorOptions mutator_options(const Config& config);
[[nodiscard]] HttpMutationOptions http_mutation_options(const Config& config);
[[nodiscard]] ViewDeskOptions view_desk_options(const Config& config);
[[nodiscard]] ledger::ReaderOptions reader_options(const Config& config);
[[nodiscard]] ledger::ReaderOptions bootstrap_reader_options(const Config& config);
[[nodiscard]] LogDeskOptions log_desk_options(const Config& config, const std::string& conninfo);
[[nodiscard]] ledger::PreflightOptions preflight_options(const Config& config);

}  // namespace viewgate::gateway
