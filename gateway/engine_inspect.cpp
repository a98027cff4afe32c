// Engine, second half: what an operator sees of it.
#include "gateway/engine.hpp"

namespace viewgate::gateway {

std::optional<std::string> Engine::see_spaces(const std::optional<std::string>& after, std::size_t count,
                                              const std::function<void(const SpaceSight&)>& see) const {
  auto at = after ? spaces_.upper_bound(*after) : spaces_.begin();
  for (std::size_t seen = 0; at != spaces_.end(); ++at) {
    const auto& [name, space] = *at;
    const RecentCommits* recent = recent_.find(name);
    see({name, space.following, space.head.sequence, space.groups.size(), recent == nullptr ? 0 : recent->bytes()});
    if (++seen == count) return name;
  }
  return std::nullopt;
}

Steps Engine::see_groups(TableWalk& walk, std::size_t count, const std::function<void(const GroupSight&)>& see) const {
  return walk_some(groups_, walk, count, [&](const auto& item) {
    const Followed& followed = item.second;
    see({*followed.spec, followed.documents, followed.document_bytes});
  });
}

}  // namespace viewgate::gateway
