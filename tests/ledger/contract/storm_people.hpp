// Who takes part in the storm: threads that write and read while everything around them is killed, each with choices of its own
// that its seed repeats. They write down what they were told; what is not so in the end, the storm finds.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ledger/contract/steps.hpp"

namespace viewgate::testing {

/// What all of them share.
struct StormPlace {
  std::string conninfo;
  std::uint16_t port = 0;  ///< of the gateway
  std::string token;
  std::vector<std::string> spaces;
  std::atomic<bool> is_over = false;
  std::atomic<int> acknowledged = 0;  ///< mutations, by the ledger's API …
  std::atomic<int> by_http = 0;       ///< … and by HTTP

  /// A promise was broken.
  void complain(const std::string& what);
  [[nodiscard]] std::vector<std::string> complaints();

 private:
  std::mutex mutex_;
  std::vector<std::string> complaints_;
};

/// One thread; ended by StormPlace::is_over.
class StormPerson {
 public:
  StormPerson(StormPlace& storm, unsigned seed) : storm_(storm), random_(seed) {}
  virtual ~StormPerson() = default;
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void join() { thread_.join(); }

 protected:
  virtual void run() = 0;
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  StormPlace& storm_;
  std::mt19937 random_;

 private:
  std::thread thread_;
};

/// A back-end: appends managed records, or writes a captured table; a quarter of its transactions is rolled back.
class StormBackEnd final : public StormPerson {
 public:
  using StormPerson::StormPerson;

 private:
  void run() override;
  std::string statement();
};

/// A client of the ledger's own API: one request after the other, each until it is answered, and now and then an old one again.
class StormClient final : public StormPerson {
 public:
  StormClient(StormPlace& storm, unsigned seed, std::string name, std::string space)
      : StormPerson(storm, seed), name_(std::move(name)), space_(std::move(space)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& space() const { return space_; }
  [[nodiscard]] const std::vector<ledger::MutationRequest>& sent() const { return sent_; }
  /// By number less one: as many as were answered, which is all that were sent or all but the last.
  [[nodiscard]] const std::vector<std::string>& told() const { return told_; }

 private:
  void run() override;
  ledger::MutationRequest next();

  const std::string name_;
  const std::string space_;
  std::vector<ledger::MutationRequest> sent_;
  std::vector<std::string> told_;
};

/// The same through the gateway's HTTP.
class StormWebClient final : public StormPerson {
 public:
  StormWebClient(StormPlace& storm, unsigned seed, std::string name, std::string space)
      : StormPerson(storm, seed), name_(std::move(name)), space_(std::move(space)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& space() const { return space_; }
  [[nodiscard]] const std::vector<std::string>& sent() const { return sent_; }
  [[nodiscard]] const std::vector<std::string>& told() const { return told_; }
  /// The answer's body; empty: none came, or `unavailable`, and the same is to be sent again.
  [[nodiscard]] std::string post(const std::string& body);

 private:
  void run() override;

  const std::string name_;
  const std::string space_;
  std::vector<std::string> sent_;
  std::vector<std::string> told_;
};

/// Reads a space's log from its beginning, in pages of any size.
class StormReader final : public StormPerson {
 public:
  StormReader(StormPlace& storm, unsigned seed, std::string space)
      : StormPerson(storm, seed), space_(std::move(space)) {}

  [[nodiscard]] const std::string& space() const { return space_; }
  [[nodiscard]] const std::vector<ledger::Commit>& commits() const { return commits_; }

 private:
  void run() override;

  const std::string space_;
  std::vector<ledger::Commit> commits_;
};

}  // namespace viewgate::testing
