#include "gateway/disk_budget.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "gateway/log.hpp"

namespace viewgate::gateway {

DiskBudget::DiskBudget(std::uint64_t bytes, std::string directory) : bytes_(bytes), directory_(std::move(directory)) {}

std::uint64_t DiskBudget::bytes(const ledger::LedgerSize& size) const {
  if (bytes_ > 0 || directory_.empty()) return bytes_;
  std::error_code unreadable;
  const auto space = std::filesystem::space(directory_, unreadable);
  return unreadable ? 0 : size.total() + space.available;
}

DiskBudget::Level DiskBudget::level_of(std::uint64_t taken, std::uint64_t budget) {
  if (budget == 0 || taken < budget / 5 * 4) return Level::fine;
  return taken < budget ? Level::high : Level::over;
}

void DiskBudget::watch(const ledger::LedgerSize& size) {
  if (std::exchange(looks_, size.looks) == size.looks) return;
  const std::uint64_t budget = bytes(size);
  const Level level = level_of(size.total(), budget);
  if (std::exchange(level_, level) == level) return;
  const char* const event = level == Level::fine ? "disk_fine" : level == Level::high ? "disk_high" : "disk_over";
  log::write(level == Level::fine ? log::Level::info : log::Level::warn, event,
             {{"ledger_bytes", size.total()}, {"budget_bytes", budget}, {"dead_rows", size.dead_rows}});
}

}  // namespace viewgate::gateway
