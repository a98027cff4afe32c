// The raw log as lines of JSON, what `viewgate log` prints and GET /v1/spaces/{space}/log sends. Pure.
//
//   {"space":"acme","sequence":"7","stamp":"81…","source":"capture","role":"app","at":"2026-01-02T03:04:05.678901Z",
//    "changes":[{"ordinal":0,"kind":"updated","collection":"public.items","key":[1],"before":{…},"after":{…}}],"last":true}
//
// A commit of up to 500 changes is one line. A larger one is several, ordered by collection and key, with "last":false on
// all but the final one: it is to be applied when that is there, in the order of ordinals per key. What a commit has not is
// not in its line, and the receipt only in the first one: principal, client, request_id, fields, receipt; before, after and groups of a change.
#pragma once

#include <string>
#include <string_view>

#include "ledger/commit.hpp"
#include "ledger/store.hpp"

namespace viewgate::gateway {

/// As it is called in lines.
[[nodiscard]] std::string_view name_of(ledger::ChangeKind kind);

/// With the newline that ends it.
void append_log_line(std::string& out, const ledger::CommitPart& part);

/// The end of a page: {"next_cursor":"7","has_more":false,"watermark":"7","retained_from":"1"}, and a newline.
void append_log_end(std::string& out, const ledger::LogPage& page);

}  // namespace viewgate::gateway
