#include "gateway/mutation_desk.hpp"

#include <limits>
#include <utility>

namespace viewgate::gateway {
namespace {

using Kind = ledger::MutationAnswer::Kind;

ledger::Error nothing_attached() { return {ledger::errc::unavailable, "", "this node does not write"}; }

}  // namespace

void MutationDesk::mutate(MutationCall call, std::function<void(MutationReply)> reply) {
  if (mutations_ == nullptr) return reply(nothing_attached());
  mutations_->mutate(std::move(call.request), std::move(call.rules), std::move(reply));
}

/// Receipts are pruned from the oldest on, as the commits that carry them. So the first number that has one is found by halving
/// what lies between: the numbers up to `pruned` have none any more, `known` has one or is beyond the last.
class MutationDesk::Search : public std::enable_shared_from_this<Search> {
 public:
  Search(ledger::Mutations& mutations, ReceiptsCall call, std::function<void(ReceiptsReply)> done)
      : mutations_(mutations),
        call_(std::move(call)),
        done_(std::move(done)),
        next_(call_.after < std::numeric_limits<std::int64_t>::max() ? call_.after + 1 : call_.after) {}

  void start() {
    ask(next_, [this](const ledger::MutationAnswer& answer) {
      if (answer.kind != Kind::receipt_pruned || call_.count_max == 1) return take(answer);
      pruned_ = next_;
      ask(std::numeric_limits<std::int64_t>::max(), [this](const ledger::MutationAnswer& last) {
        if (last.kind != Kind::sequence_gap) return end(last.kind);
        halve(last.expected);
      });
    });
  }

 private:
  void ask(std::int64_t number, std::function<void(const ledger::MutationAnswer&)> then) {
    mutations_.receipt(call_.space, call_.client, call_.principal, number,
                       [self = shared_from_this(), then = std::move(then)](const MutationReply& reply) {
                         if (!reply) return self->done_(reply.error());
                         then(*reply);
                       });
  }

  void halve(std::int64_t known) {
    if (known - pruned_ <= 1) {
      next_ = known;
      return ask(next_, [this](const ledger::MutationAnswer& answer) { take(answer); });
    }
    const std::int64_t middle = pruned_ + (known - pruned_) / 2;
    ask(middle, [this, known, middle](const ledger::MutationAnswer& answer) {
      if (answer.kind == Kind::receipt_pruned) pruned_ = middle;
      halve(answer.kind == Kind::receipt_pruned ? known : middle);
    });
  }

  void take(const ledger::MutationAnswer& answer) {
    if (answer.kind != Kind::replay) return end(answer.kind);
    found_.receipts.push_back(answer.receipt);
    if (found_.receipts.size() == call_.count_max || next_ == std::numeric_limits<std::int64_t>::max()) {
      return end(Kind::receipt);
    }
    ask(++next_, [this](const ledger::MutationAnswer& following) { take(following); });
  }

  void end(Kind kind) {
    found_.end = kind;
    done_(std::move(found_));
  }

  ledger::Mutations& mutations_;
  const ReceiptsCall call_;
  const std::function<void(ReceiptsReply)> done_;
  std::int64_t next_;
  std::int64_t pruned_ = 0;
  ReceiptsFound found_;
};

void MutationDesk::receipts(ReceiptsCall call, std::function<void(ReceiptsReply)> reply) {
  if (mutations_ == nullptr) return reply(nothing_attached());
  std::make_shared<Search>(*mutations_, std::move(call), std::move(reply))->start();
}

}  // namespace viewgate::gateway
