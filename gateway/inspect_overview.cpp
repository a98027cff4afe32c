#include "gateway/inspect_overview.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <span>

#include "gateway/json_object.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t furthest_shown = 5;  // spaces

std::string streams_json(const StreamsSight& streams) {
  JsonObject stages;
  for (std::size_t i = 0; i < stage_count; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (stage != Stage::ended) stages.number(name(stage), streams.stages.at(i));
  }
  JsonObject out;
  return out.number("open", streams.count()).number("behind", streams.behind).json("stages", stages.str()).str();
}

std::string json_of(const ReactorSum& sum) {
  JsonObject out;
  out.number("reactor", sum.index)
      .number("connections", sum.connections)
      .number("sessions", sum.sessions)
      .number("blocked", sum.blocked)
      .number("groups", sum.groups)
      .number("ring_bytes", sum.ring_bytes)
      .number("queue_bytes", sum.queue_bytes)
      .json("subscriptions", streams_json(sum.streams));
  return out.str();
}

}  // namespace

std::string overview_json(std::string_view node_name, std::string_view version, Overview all) {
  std::ranges::sort(all.reactors, {}, &ReactorSum::index);
  StreamsSight streams;
  std::size_t connections = 0;
  std::size_t blocked = 0;
  for (const auto& each : all.reactors) {
    streams.add(each.streams);
    connections += each.connections;
    blocked += each.blocked;
  }
  auto& lags = all.engine.lags;
  std::ranges::sort(lags, std::greater(), &ledger::SpaceLag::time);
  const auto late = std::ranges::count_if(lags, [](const auto& each) { return each.time >= late_after; });
  const std::span furthest(lags.data(), std::min(lags.size(), furthest_shown));
  JsonObject node;
  node.text("name", node_name).text("version", version);
  node.number("process", ::getpid()).number("uptime_seconds", all.uptime.count());
  JsonObject spaces;
  spaces.number("followed", all.engine.spaces).number("late", late);
  spaces.json("furthest", json_array(furthest, [](const auto& each) { return json_of(each); }));
  const ProcessReading process = read_process();
  JsonObject out;
  out.boolean("caught_up", !all.engine.degraded && late == 0 && streams.behind == 0)
      .boolean("database_available", !all.engine.degraded)
      .text("wakeups", all.engine.tail.wakeups == ledger::Wakeups::listen ? "listen" : "poll")
      .json("node", node.str())
      .json("spaces", spaces.str())
      .json("subscriptions", streams_json(streams))
      .number("connections", connections)
      .number("blocked", blocked)
      .number("groups", all.engine.groups)
      .number("commits", all.engine.commits)
      .number("documents", all.engine.frames)
      .number("resident_bytes", process.resident_bytes)
      .number("open_descriptors", process.open_descriptors)
      .number("max_descriptors", process.max_descriptors)
      .json("reactors", json_array(all.reactors, [](const auto& each) { return json_of(each); }));
  return out.str();
}

}  // namespace viewgate::gateway
