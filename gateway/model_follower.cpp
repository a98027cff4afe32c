#include "gateway/model_follower.hpp"

#include <utility>

#include "gateway/log.hpp"

namespace viewgate::gateway {

void ModelFollower::start(std::function<void(ledger::Result<ActiveModelPtr>)> done) {
  loader_.load([this, done = std::move(done)](ledger::Result<ActiveModelPtr> loaded) {
    if (loaded) {
      model_ = *loaded;
      log_model(*model_);
    }
    done(std::move(loaded));
  });
}

void ModelFollower::read() {
  read_again_ = reading_;
  if (std::exchange(reading_, true)) return;
  loader_.load([this](const ledger::Result<ActiveModelPtr>& loaded) {
    reading_ = false;
    take(loaded);
    if (loaded && read_again_) read();
  });
}

void ModelFollower::take(const ledger::Result<ActiveModelPtr>& loaded) {
  if (!loaded) {
    if (!std::exchange(has_failed_, true)) {
      log::warn("model_not_read", {{"error", ledger::name(loaded.error().code)}, {"detail", loaded.error().detail}});
    }
    retry_timer_.expires_after(retry_after_);
    retry_timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) read();
    });
    return;
  }
  has_failed_ = false;
  if (is_same(*model_, **loaded)) return;
  model_ = *loaded;
  log_model(*model_);
  on_change_(model_);
}

}  // namespace viewgate::gateway
