// What a pooler in transaction mode does, in miniature: several clients, and at every transaction's start a client gets
// whichever server session became free last.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace viewgate::testing {

class TransactionPooler {
 public:
  /// `unix_socket`: the path of the server's socket.
  explicit TransactionPooler(std::string unix_socket);
  ~TransactionPooler();
  TransactionPooler(const TransactionPooler&) = delete;
  TransactionPooler& operator=(const TransactionPooler&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  struct Server;
  struct Client;

  void run();
  void accept_client();
  bool read_client(Client& client);
  bool start_client(Client& client);
  bool read_server(Server& server);
  void leave(Client& client);

  std::string unix_socket_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Server*> free_;  ///< the one that became free last is taken first
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace viewgate::testing
