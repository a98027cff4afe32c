// The end of the thread of bootstraps, whatever still waits for it.
#include "gateway/bootstrap_thread.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>

#include "gateway/spill.hpp"

namespace viewgate::gateway {
namespace {

TEST(BootstrapThread, its_end_lets_go_of_what_waits_for_it_and_closes_its_files) {
  boost::asio::io_context engine;
  std::shared_ptr<SpillBudget> budget;
  std::size_t of_the_file = 0;
  {
    BootstrapThread thread(engine, "", {});
    const auto aside = thread.aside();
    budget = std::make_shared<SpillBudget>(1000, [aside](auto call) { aside(std::move(call), {}); });
    std::string problem;
    std::shared_ptr<SpillFile> file = SpillFile::make("/var/tmp", budget, problem);
    ASSERT_TRUE(file) << problem;
    ASSERT_TRUE(file->append("a row")) << file->problem();
    thread.stop();
    // Holds the file, which holds the budget, which holds the way to the queue in which this waits.
    aside([file] { ADD_FAILURE() << "a job is run after the end"; }, {});
    file.reset();
    of_the_file = budget->bytes();
  }
  EXPECT_EQ(of_the_file, 5U) << "it waits";
  EXPECT_EQ(budget->bytes(), 0U);
  EXPECT_EQ(budget.use_count(), 1) << "nothing that holds it is left";
}

}  // namespace
}  // namespace viewgate::gateway
