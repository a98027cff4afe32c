// What the tests of bootstraps share: an engine that follows a group, and what a snapshot holds.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "gateway/engine_world.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway::testing {

inline std::shared_ptr<const SnapshotChunks> chunks_of(const BootstrapReply& reply) {
  return std::get<std::shared_ptr<const SnapshotChunks>>(reply);
}
inline ErrorCode error_of(const BootstrapReply& reply) { return std::get<ErrorCode>(std::get<Refusal>(reply).why); }

/// The records of a snapshot, wherever they lie, as key -> record.
inline std::map<std::string, std::string> records_of(const SnapshotChunks& snapshot) {
  std::string text;
  for (const auto& chunk : snapshot.chunks) text += *chunk;
  for (std::size_t i = 0; snapshot.spilled && i < snapshot.spilled->count(); ++i) text += *snapshot.spilled->text(i);
  std::map<std::string, std::string> out;
  for (const auto document : split_documents(text)) {
    const auto parsed = std::get<Snapshot>(*parse_server_document(document));
    const auto records = read_records(parsed.records).value();
    for (const auto& each : records) {
      EXPECT_TRUE(out.emplace(each.key, each.record).second) << each.key << " stands twice";
    }
  }
  return out;
}

class EngineBootstrap : public ::testing::Test {
 protected:
  void start(const EngineLimits& limits = {}) {
    world = std::make_unique<World>(limits);
    world->follow(0, overdrawn, 5);
  }

  ActiveModelPtr model = active_model();
  GroupSpecPtr overdrawn = spec_of(model, subscribe_to("overdrawn"));
  std::unique_ptr<World> world;
};

}  // namespace viewgate::gateway::testing
