#include "loadtest/consumer.hpp"

#include <cstdio>

#include "loadtest/journal.hpp"

namespace viewgate::loadtest {

std::size_t consume(const ConsumerOptions& options, const std::atomic<bool>& stop) {
  constexpr std::chrono::milliseconds pause{200};
  Loop loop;
  Violations violations;
  Totals totals;
  Client client(loop, "consumer", options.address, options.token, {options.wanted}, violations, totals);
  Fold& fold = client.subscriptions().front().fold;
  Journal journal(options.file, fold);
  // The journal is written before the fold moves: what the fold says is never ahead of the file.
  client.set_observer([&](std::string_view text, const std::vector<Member>& document) {
    const std::string_view type = unquoted(member(document, "type"));
    if (type == "welcome") journal.forget_unfinished();
    journal.take(type, text, member(document, "last") != "false");
  });
  std::size_t told = 0;
  Clock::time_point connect_at = Clock::now();
  while (!stop) {
    loop.turn(std::chrono::milliseconds(20));
    const Clock::time_point now = Clock::now();
    if (client.online()) {
      client.tick(now);
      journal.shrink(fold, options.journal_bytes_max);
      connect_at = now + pause;
    } else if (now >= connect_at) {
      client.connect(now);
    }
    for (; told < violations.kept().size(); ++told) std::fprintf(stderr, "%s\n", violations.kept()[told].c_str());
  }
  return violations.count();
}

}  // namespace viewgate::loadtest
