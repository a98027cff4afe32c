#include "gateway/housekeeping_log.hpp"

#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::chrono::minutes rest{1};

}  // namespace

void HousekeepingLog::watch(const ledger::HousekeepingFailures& failures, std::chrono::steady_clock::time_point now) {
  if (failures.count == told_ || (told_at_ && now - *told_at_ < rest)) return;
  log::warn("housekeeping_failed", {{"doing", failures.doing},
                                    {"error", ledger::name(failures.error.code)},
                                    {"detail", failures.error.detail},
                                    {"times", failures.count - told_}});
  told_ = failures.count;
  told_at_ = now;
}

}  // namespace viewgate::gateway
