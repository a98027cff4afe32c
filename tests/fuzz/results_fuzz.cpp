// What PostgreSQL prints, read again: whatever the text, a value that was read comes back from its own text, as text and as JSON, and
// equals itself; arrays and records are taken apart inside their text and put together as they were. The first byte chooses the type.
#include <array>
#include <string>

#include "fuzz/fuzz.hpp"
#include "ledger/pg/result.hpp"
#include "ledger/record_text.hpp"
#include "projection/value.hpp"

using namespace viewgate;
using projection::Type;

namespace {

constexpr std::array types{Type::boolean, Type::int2,      Type::int4,        Type::int8,   Type::numeric,
                           Type::float4,  Type::float8,    Type::text,        Type::bpchar, Type::uuid,
                           Type::date,    Type::timestamp, Type::timestamptz, Type::bytea,  Type::jsonb};

void come_back(Type type, std::string_view text) {
  const projection::Value value = projection::parse_text(type, text);
  if (projection::is_null(value) || projection::is_fault(value)) return;
  const std::string printed = projection::print_text(type, value);
  const projection::Value again = projection::parse_text(type, printed);
  fuzz::promise(!projection::is_fault(again) && !projection::is_null(again), "what is printed is read");
  fuzz::promise(projection::canonical(again) == projection::canonical(value),
                "a value equals the one that was printed");
  fuzz::promise(projection::print_text(type, again) == printed, "it is printed in one way");
  const projection::Value from_json = projection::decode_json(type, projection::print_json(type, value));
  fuzz::promise(!projection::is_fault(from_json), "what is printed as JSON is read");
}

void take_apart_record(std::string_view text) {
  const projection::Value value = projection::parse_text(Type::jsonb, text);
  if (!std::holds_alternative<projection::Jsonb>(value)) return;
  const std::string record = std::get<projection::Jsonb>(value).text;
  static_cast<void>(ledger::key_fault(record));
  if (!ledger::is_object(record)) {
    fuzz::promise(ledger::columns_of(record).empty(), "only an object has columns");
    return;
  }
  const std::string_view whole = record;
  for (const auto& column : ledger::columns_of(record)) {
    fuzz::promise(
        column.value.data() >= whole.data() && column.value.data() + column.value.size() <= whole.data() + whole.size(),
        "a column lies in its record");
    static_cast<void>(ledger::unquoted(column.quoted_name));
  }
  fuzz::promise(ledger::merged(record, "{}") == record, "nothing changes nothing");
  fuzz::promise(ledger::merged("{}", record) == record, "all is all");
  fuzz::promise(ledger::merged(record, record) == record, "the same is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(bytes + 1, size - 1);
  come_back(types[bytes[0] % types.size()], text);
  take_apart_record(text);
  const std::vector<std::string> elements = ledger::pg::texts_of(text);
  fuzz::promise(ledger::pg::texts_of(ledger::pg::array_text(elements)) == elements, "an array comes back");
  return 0;
}
