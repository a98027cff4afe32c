// What bounds the engine, and what it reaches its surroundings through. A simulator gives its own of each.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "gateway/ports.hpp"

namespace viewgate::gateway {

inline constexpr std::size_t mebibyte = 1024UL * 1024;

using TimePoint = std::chrono::steady_clock::time_point;

struct EngineLimits {
  std::size_t space_bytes = 4 * mebibyte;             ///< recent commits kept per space
  std::size_t spaces_bytes = 256 * mebibyte;          ///< recent commits kept of all spaces together
  std::size_t history_bytes = mebibyte;               ///< record text read at once for those who return
  std::size_t history_commit_bytes = 4 * mebibyte;    ///< of one answer in memory; above it it goes on in a file
  std::size_t history_total_bytes = 64 * mebibyte;    ///< of all answers in memory; above it they go on in files
  std::size_t frame_bytes = mebibyte / 4;             ///< of one commit; above it it is told as history
  std::size_t history_groups = 64;                    ///< served by one read
  std::size_t reactor_backlog_bytes = 64 * mebibyte;  ///< posted to one reactor and not yet taken by it
  std::size_t snapshot_concurrent = 2;
  std::size_t snapshot_queue = 1024;
  std::size_t principal_bootstraps = 128;              ///< of one principal in that queue; 0: any number
  std::size_t snapshot_bytes = 256 * mebibyte;         ///< of one
  std::size_t snapshot_memory_bytes = 256 * mebibyte;  ///< of one; and of what changed while it was read
  std::size_t snapshot_total_bytes = 512 * mebibyte;   ///< of all in memory; above either they go on in files
  std::size_t snapshot_disk_bytes = 0;                 ///< of all in files, with histories; 0: there are none
  std::string snapshot_directory = "/var/tmp";
  std::size_t snapshot_chunk_bytes = 64 * std::size_t{1024};
  std::size_t snapshot_page_rows = 20'000;          ///< of the first page; those after it follow from how long it took
  std::chrono::milliseconds snapshot_hold{1'000};   ///< how long a page should take
  std::chrono::milliseconds snapshot_time{30'000};  ///< the longest that one may take
  std::chrono::milliseconds snapshot_read_time{1'800'000};  ///< the longest that all of a view may take
  bool snapshot_is_uncached = false;                        ///< as if no file were ever in the page cache
  std::chrono::milliseconds snapshot_reuse{2'000};
  std::int64_t snapshot_reuse_commits = 2'000;
  std::chrono::milliseconds progress_interval{2'000};
  std::chrono::milliseconds linger{5'000};
  std::chrono::milliseconds join_time{10'000};  ///< that a snapshot without a socket waits for its space
  std::chrono::milliseconds retry_after{1'000};
};

/// `post` runs the call later on that reactor's thread, in the order of the posts to that reactor.
struct EngineSurroundings {
  std::size_t reactors = 1;  ///< at most 64
  std::function<void(std::size_t reactor, std::function<void(ReactorPort&)>)> post;
  /// Runs `job` on the thread of bootstraps, which may wait for disks, in the order of the calls and behind whatever rows
  /// and commits were handed on there before; then `done`, where there is one, on the engine's.
  std::function<void(std::function<void()> job, std::function<void()> done)> aside;
  /// Told where values of commits up to `through` were erased, beside the reactors; empty: nobody else has any.
  std::function<void(const std::string& space, ledger::Sequence through)> erased;
  std::function<TimePoint()> now;
};

}  // namespace viewgate::gateway
