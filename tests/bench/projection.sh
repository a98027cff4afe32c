#!/usr/bin/env bash
# What projection costs (projection_bench), and beside the evaluator the same predicates in a private PostgreSQL on the same
# machine in the same run: a sequential scan of a table in memory, without parallel workers and JIT, CPU time, best of seven.
#
#   tests/bench/projection.sh BIN
#
# BIN: where projection_bench is. The last line is JSON; the status is 1 where a bound that the project promises is not kept
# (a commit among a million groups costs at most three times what it costs among a thousand; 300 bytes of an idle group).
set -euo pipefail
bin=$(realpath "$1")
rows=200000
# shellcheck source=cluster.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/cluster.sh"
start_postgres -c max_parallel_workers_per_gather=0 -c jit=off -c fsync=off

# The record of projection_bench, so many times.
sql postgres "create table issues (id int8 primary key, title text, status text, assignee text, priority int4, archived boolean, opened timestamptz,
                          doc jsonb, tags text[]);
     insert into issues select i, 'quite urgent, this one', 'open', 'user5', 3, false, '2024-05-06 07:08:09+00',
                               '{\"kind\": \"bug\", \"estimate\": 5}', '{api,db}' from generate_series(1, $rows) i"
sql postgres "vacuum (analyze, freeze) issues"

ns_of() {  # condition: CPU time, as the evaluator's, so that a busy machine does neither an injustice
  local each
  for each in 1 2 3 4 5 6 7; do
    sql postgres "set client_min_messages = log; set log_executor_stats = on; select count(*) from issues where $1" 2>&1 |
      sed -n 's/^!\t\([0-9.]*\) s user, \([0-9.]*\) s system, .* elapsed$/\1 \2/p'
  done | awk -v rows="$rows" '{v = $1 + $2; if (NR == 1 || v < best) best = v} END {printf "%.0f", best * 1e9 / rows}'
}

"$bin/projection_bench" --benchmark_out="$directory/figures" --benchmark_out_format=json >&2
python3 - "$directory/figures" \
  "equality=$(ns_of "status = 'open'")" \
  "two_equalities=$(ns_of "assignee = 'user5' and status = 'open'")" \
  "range_or_list=$(ns_of "priority between 2 and 4 or status in ('new', 'blocked', 'waiting') or assignee is null")" \
  "words_and_time=$(ns_of "title ilike '%urgent%' and not archived and opened >= '2024-01-01'")" \
  "jsonb_and_array=$(ns_of "(doc ->> 'estimate')::int > 3 and tags && array['ui', 'api']")" <<'PYTHON'
import json, sys

each = {b["name"]: b for b in json.load(open(sys.argv[1]))["benchmarks"]}
scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
ns = lambda name: each[name]["cpu_time"] * scale[each[name]["time_unit"]]
commits = {groups: round(1e9 / ns(f"commits_that_touch_one_group/{groups}")) for groups in (1, 1000, 1000000)}
idle = each["memory_of_idle_groups/1000000/iterations:1"]
out = {
    "bench": "projection",
    "commits_per_second_by_groups": commits,
    "cost_of_a_million_groups_to_a_thousand": round(commits[1000] / commits[1000000], 2),
    "bytes_of_an_idle_group": round(idle["bytes_per_group"] - idle["of_values"]),
    "bind_us": round(ns("binding_a_subscription") / 1e3, 2),
    "join_and_leave_us_among_a_million": round(ns("joining_and_leaving/1000000") / 1e3, 2),
    "evaluator_ns": {name.split("/")[1]: round(ns(name)) for name in each if name.startswith("evaluating/")},
    "postgresql_ns": {name: int(value) for name, value in (pair.split("=") for pair in sys.argv[2:])},
}
out["bounds_kept"] = out["cost_of_a_million_groups_to_a_thousand"] <= 3 and out["bytes_of_an_idle_group"] <= 300
print(json.dumps(out))
sys.exit(not out["bounds_kept"])
PYTHON
