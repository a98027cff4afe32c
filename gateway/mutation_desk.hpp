// The way to the ledger's write path: hands mutations on, and finds receipts that a client asks for. Stateless.
//
// On the engine's thread, where the answers come, too. What is attached outlives it.
#pragma once

#include <functional>

#include "gateway/ports.hpp"
#include "ledger/ports.hpp"

namespace viewgate::gateway {

class MutationDesk {
 public:
  /// Until then every question is answered `unavailable`.
  void attach(ledger::Mutations& mutations) { mutations_ = &mutations; }

  void mutate(MutationCall call, std::function<void(MutationReply)> reply);
  void receipts(ReceiptsCall call, std::function<void(ReceiptsReply)> reply);

 private:
  class Search;

  ledger::Mutations* mutations_ = nullptr;
};

}  // namespace viewgate::gateway
