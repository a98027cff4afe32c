// GET /metrics on the operators' port.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gateway/admin_door.hpp"
#include "gateway/metrics.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::gateway {

/// `read_engine` is called on the thread of `io`. The reactors are not changed any more and outlive the door.
void add_metrics(AdminDoor& door, boost::asio::io_context& io, std::function<EngineReading()> read_engine,
                 const std::vector<std::unique_ptr<Reactor>>& reactors);

}  // namespace viewgate::gateway
