// What the nodes of one deployment share through the database beside the log: the model in force, the captured tables,
// and the keys of cursors. Whoever follows the log learns from on_registry_moved when to read it again.
//
// Lives on the io_context's thread, on a connection of its own. Calls run one after the other. After stop() or
// destruction no callback comes any more; none runs inside the call that caused it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/conflict_group.hpp"
#include "ledger/error.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::ledger {

/// The application's model, as text; `version` grows with every switch.
struct ModelInForce {
  std::int64_t version = 0;
  std::string text;
  std::string hash;
};

struct Capture {
  std::string collection;  ///< schema.table, as changes name it
  std::string schema;
  std::string table;
  std::int64_t id = 0;  ///< random; another one after a hole; 0 while the capture is broken
  std::string space_column;
  std::string broken_reason;  ///< empty: whole
};

struct TableColumn {
  std::string name;
  std::string type;                         ///< pg_type.typname of types of pg_catalog ("int4"), format_type of others
  bool has_deterministic_collation = true;  ///< also where it has none
  std::vector<std::string> labels;          ///< of an enum, or of an array of one, in their declared order
  bool is_not_null = false;
  std::string mark;  ///< another one where its values may read differently (viewgate.column_marks)
};

/// A table as it is now. `columns` empty: there is no such table.
struct TableShape {
  std::string schema;
  std::string table;
  std::vector<TableColumn> columns;      ///< in the table's order
  std::vector<std::string> primary_key;  ///< in the key's order
};

struct CursorKey {
  int id = 0;
  std::string secret;  ///< 32 random bytes
};

struct RegistryState {
  std::optional<ModelInForce> model;
  std::vector<Capture> captures;
  std::vector<CursorKey> keys;  ///< oldest first, at least one
};

class Registry {
 public:
  template <class T>
  using Done = std::function<void(Result<T>)>;

  Registry(boost::asio::io_context& io, std::string conninfo, std::chrono::milliseconds time_max);
  ~Registry();

  /// Checks the captured tables for holes and reads everything, as of one moment. Makes the first cursor key where
  /// there is none.
  void read(Done<RegistryState> done);

  /// The tables by schema and name, in that order.
  void describe(std::vector<std::pair<std::string, std::string>> tables, Done<std::vector<TableShape>> done);

  /// Puts a model in force, for all nodes. The same hash again changes nothing. `hash` and that the text is a valid
  /// model are the caller's affair. `groups`: the conflict groups that the model declares.
  void apply_model(std::string text, std::string hash, const DeclaredGroups& groups, Done<ModelInForce> done);

  /// `table`: as in SQL, in schema public where it names none. Returns the capture's id. not_capturable says why not.
  void capture(std::string table, std::string space_column, Done<std::int64_t> done);
  void uncapture(std::string table, Done<void> done);

  void stop();

 private:
  class Work;
  std::shared_ptr<Work> work_;
};

}  // namespace viewgate::ledger
