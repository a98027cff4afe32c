// The promises that any ledger adapter keeps, each a function that fails the test where one is broken, with the sentence of
// the seed's contract that it stands for. What is said there of views, cursors of clients and rights is not the ledger's: the
// table in docs/ledger.md names the tests of those sentences.
#pragma once

#include <vector>

#include "ledger/contract/adapter.hpp"

namespace viewgate::testing {

struct Promise {
  const char* name;
  const char* sentence;
  void (*keep)(LedgerAdapter&);  ///< in spaces of its own
};

/// All of them: of reading, of writing, and of what writes come to together.
[[nodiscard]] std::vector<Promise> promises();
[[nodiscard]] std::vector<Promise> reading_promises();
[[nodiscard]] std::vector<Promise> writing_promises();
[[nodiscard]] std::vector<Promise> history_promises();
[[nodiscard]] const Promise& promise_of(const std::string& name);

}  // namespace viewgate::testing
