#include "ledger/contract/plants.hpp"

#include "ledger/planted.hpp"

namespace viewgate::testing {

std::vector<Plant> plants() {
  return {
      {"lose_commit", "a_mutations_commit_carries_its_receipt_with_acknowledgement"},
      {"receipt_differs", "a_replay_gives_the_stored_receipt_and_consumes_nothing"},
      {"process_again", "a_replay_gives_the_stored_receipt_and_consumes_nothing", {}, "commits_requests"},
      {"accept_gap", "a_gap_names_the_expected_number_and_consumes_nothing"},
      {"ignore_body", "another_body_under_a_used_number_is_a_conflict_and_consumes_nothing"},
      {"ignore_principal", "a_client_belongs_to_the_principal_that_used_it_first"},
      {"ignore_groups", "a_mutation_conflicts_only_where_it_touches_a_group_that_moved_since_its_base"},
      {"tell_no_op", "a_no_op_leaves_a_receipt_and_no_change"},
      {"keep_refused", "a_permanent_rejection_leaves_a_receipt_and_no_change", {}, "not contiguous"},
      {"stale_before", "each_before_is_the_after_that_preceded_it_and_stays"},
      {"future_cursor", "negative_and_future_cursors_and_limits_below_one_are_invalid"},
      {"ignore_horizon", "a_read_below_the_horizon_is_history_unavailable"},
      {"number_in_any_order",
       "the_order_of_numbers_is_the_order_of_commits",
       {{"look", "order by g.last)", "order by g.last desc)"},
        {"number", "order by g.last)", "order by g.last desc)"}}},
      {"skip_what_ran", "a_late_commit_is_not_skipped", {{"look", "where w.txid = any(running)", "where false"}}},
      {"withhold_large_commits",
       "a_commit_that_exceeds_the_budget_is_returned_alone_and_whole",
       {{"read_log", "or b.total = greatest(b.changes, 1)", ""}}},
      {"ordinals_from_one",
       "sequences_count_from_one_and_ordinals_from_zero",
       {{"read_log", "row_number() over (order by h.counter) - 1", "row_number() over (order by h.counter)"}},
       "not contiguous"},
      {"one_stamp_for_all",
       "sequences_count_from_one_and_ordinals_from_zero",
       {{"random_mark", "uuid_hash_extended(gen_random_uuid(), 0)", "1"}}},
      {"prune_one_more",
       "pruning_moves_the_horizon_and_renumbers_nothing",
       {{"prune_before", "least($2,", "least($2 + 1,"}},
       "history_unavailable"},
      {"prune_what_is_readable",
       "pruning_moves_the_horizon_and_renumbers_nothing",
       {{"prune_batch", "and o.sequence < (", "and o.sequence <= ("}},
       "append-only down to retained_from"},
      {"begin_again_at_one",
       "numbering_goes_on_when_everything_is_pruned",
       {{"spaces", "h.retained_from - 1", "0::bigint"}},
       "invalid_cursor"},
      {"tombstone_as_update",
       "a_tombstone_is_a_change_of_kind_deleted",
       {{"append", "when new is null then 'd'", "when new is null then 'u'"}}},
      {"forget_groups",
       "changes_name_the_groups_that_moved",
       {{"append", "old::text, new::text, moved)", "old::text, new::text, null)"}}},
      {"version_stands_still",
       "a_mutation_conflicts_only_where_it_touches_a_group_that_moved_since_its_base",
       {{"append", "stood || viewgate.versions_of(moved, -part)", "stood"}}},
      {"forget_where_from",
       "every_commit_says_where_it_came_from",
       {{"write_mutations", "u.request_id, u.fields, u.principal", "null, null, u.principal"},
        {"write_mutation", "request_id, fields, principal, client, number, receipt,\n",
         "null, null, principal, client, number, receipt,\n"}}},
      // From here on, what pages and numbers promise. A budget is kept by the SQL and by the program, so a bug needs both.
      {"always_more", "a_page_is_whole_commits_a_cursor_and_whether_more_waits"},
      {"cursor_of_first_commit", "the_loop_of_pages_gives_every_commit_once"},
      {"forget_cursor", "the_cursor_of_an_empty_page_is_the_given_one"},
      {"count_commits",
       "limit_is_a_soft_budget_in_changes_not_commits",
       {{"read_log", "sum(greatest(c.changes, 1))", "sum(1)"}}},
      {"overfill",
       "once_a_page_has_a_commit_another_must_fit",
       {{"read_log", "where b.total <= max_changes", "where b.total - greatest(b.changes, 1) < max_changes"}}},
      {"count_nothing_for_none",
       "a_commit_without_changes_counts_as_one",
       {{"read_log", "sum(greatest(c.changes, 1))", "sum(c.changes)"},
        {"read_log", "limit max_changes) c) b", "limit 1000) c) b"}}},
      {"number_what_is_asked",
       "watermark_and_horizon_are_pure_reads",
       {{"watermark", "STABLE", "VOLATILE"},
        {"watermark", "select coalesce((",
         "select viewgate.lock_space($1); select viewgate.append_commit(array[row(pg_current_xact_id(), "
         "viewgate.space_key($1), $1, nextval('viewgate.change_counter'), 0, 0, 1, 'append', session_user, now(), "
         "null, null, null, null, null, null, null)::viewgate.waiting]); select coalesce(("}}},
      // As if numbers were drawn from a sequence when a change is written: each append here draws two of the counter.
      {"number_what_is_discarded",
       "a_transaction_that_is_discarded_consumes_nothing",
       {{"append_commit", "+ m.nth_in_space", "+ 1 + (m.part - min(m.part) over (partition by m.space)) / 2"}},
       "not contiguous"},
      {"gaps_in_batches",
       "writers_at_once_are_each_answered_and_numbered_without_gaps",
       {{"append_commit", "+ m.nth_in_space", "+ 2 * m.nth_in_space - 1"}}},
      // Without a lock, and with time to run into each other.
      {"write_without_locks",
       "one_request_on_two_nodes_at_once_is_one_commit",
       {{"open_mutations", "retained := retained || viewgate.lock_space(name);",
         "insert into viewgate.horizons (space, name) values (viewgate.space_key(name), name) on conflict do nothing;\n"
         "    retained := retained || viewgate.retained_from(name);"},
        {"open_mutations", "for no key update) l", ") l"},
        {"write_mutations", "begin\n  foreach name", "begin\n  perform pg_sleep(0.05);\n  foreach name"},
        {"open_mutation", "retained := viewgate.lock_space($1);",
         "insert into viewgate.horizons (space, name) values (wanted, $1) on conflict do nothing;\n"
         "  retained := viewgate.retained_from($1);"},
        {"open_mutation", " for no key update;", ";"},
        {"write_mutation", "begin\n  if record", "begin\n  perform pg_sleep(0.05);\n  if record"}}},
      {"one_count_for_all_spaces",
       "numbers_count_per_client_and_space",
       {{"open_mutations", "l.space = wanted[q.place] and l.client = q.client", "l.client = q.client"},
        {"open_mutation", "l.space = wanted and l.client = $2", "l.client = $2"}}},
      {"process_malformed", "what_is_malformed_is_not_processed_and_its_number_stays_free"},
      {"forget_clients",
       "a_receipt_goes_with_its_commit_and_its_number_stays_used",
       {{"prune_batch", "c.sequence = any(old.sequences);",
         "c.sequence = any(old.sequences);\n    delete from viewgate.clients l where l.space = wanted;"}}},
      {"keep_versions", "any_history_is_what_the_model_says"},
  };
}

void edit(PgSession& session, const SqlEdit& change) {
  const std::string name = change.object;
  const bool is_view = session.value("select to_regclass('viewgate.' || $1) is not null", {name}) == "t";
  std::string text = is_view ? "create or replace view viewgate." + name + " as " +
                                   session.value("select pg_get_viewdef(to_regclass('viewgate.' || $1))", {name})
                             : session.value(
                                   "select pg_get_functiondef(p.oid) from pg_proc p where p.proname = $1 and "
                                   "p.pronamespace = 'viewgate'::regnamespace",
                                   {name});
  const std::string from = change.from;
  std::size_t at = text.find(from);
  if (at == std::string::npos)
    throw std::runtime_error("viewgate." + name + " has no '" + from + "' to plant a bug in");
  for (; at != std::string::npos; at = text.find(from, at + std::string_view(change.to).size())) {
    text.replace(at, from.size(), change.to);
  }
  session.run(text);
}

PlantedBug::PlantedBug(const char* name) { ledger::planted_bug() = name; }
PlantedBug::~PlantedBug() { ledger::planted_bug() = nullptr; }

}  // namespace viewgate::testing
