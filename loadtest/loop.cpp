#include "loadtest/loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

namespace viewgate::loadtest {

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::runtime_error("epoll_create1 failed: too many open files?");
}

Loop::~Loop() { close(epoll_); }

void Loop::watch(int fd, std::uint32_t events, Watcher* watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watcher;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) throw std::runtime_error("epoll_ctl add failed");
}

void Loop::change(int fd, std::uint32_t events, Watcher* watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watcher;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0) throw std::runtime_error("epoll_ctl mod failed");
}

void Loop::drop(int fd, Watcher* watcher) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  dropped_.push_back(watcher);
}

void Loop::turn(std::chrono::milliseconds wait_max) {
  std::array<epoll_event, 256> events;
  const int count =
      epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(wait_max.count()));
  if (count < 0 && errno != EINTR) throw std::runtime_error("epoll_wait failed");
  dropped_.clear();
  for (int i = 0; i < count; ++i) {
    auto* watcher = static_cast<Watcher*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (std::find(dropped_.begin(), dropped_.end(), watcher) == dropped_.end()) {
      watcher->on_ready(events[static_cast<std::size_t>(i)].events);
    }
  }
}

}  // namespace viewgate::loadtest
