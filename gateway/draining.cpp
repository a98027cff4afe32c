#include "gateway/draining.hpp"

#include <boost/asio/post.hpp>

namespace viewgate::gateway {

namespace asio = boost::asio;

void Draining::begin(const std::vector<std::unique_ptr<Reactor>>& reactors, std::chrono::milliseconds window,
                     std::chrono::milliseconds time_max, std::function<void()> done) {
  if (reactors.empty()) return done();
  undrained_ = reactors.size();
  // All first: whoever is told to leave by one must not find the node ready at another.
  for (const auto& reactor : reactors) reactor->set_ready(false);
  for (const auto& reactor : reactors) {
    reactor->drain(window, [this, done] {
      asio::post(io_, [this, done] {
        if (--undrained_ == 0) done();
      });
    });
  }
  timer_.expires_after(time_max);
  timer_.async_wait([done = std::move(done)](const boost::system::error_code& cancelled) {
    if (!cancelled) done();
  });
}

}  // namespace viewgate::gateway
