"""Medians of the rounds, viewgate's beside each other server's, and one line of JSON; status 1 where viewgate lost anything."""

import json
import statistics
import sys

FIGURES = {
    "fan1": ["deliveries_per_second", "cpu_seconds_per_million"],
    "fan32": ["deliveries_per_second", "cpu_seconds_per_million"],
    "rate": ["p50_ms", "p99_ms"],
    "idle": ["bytes_per_connection"],
}

runs = [json.loads(line) for line in open(sys.argv[1])]
medians, ratios = {}, {}
for shape, names in FIGURES.items():
    of_shape = [run for run in runs if run["shape"] == shape]
    medians[shape] = {
        target: {name: statistics.median(run[name] for run in of_shape if run["target"] == target) for name in names}
        for target in dict.fromkeys(run["target"] for run in of_shape)
    }
    ours = medians[shape].get("viewgate")
    if not ours:
        continue
    ratios[shape] = {
        target: {name: round(ours[name] / theirs[name], 3) for name in names if theirs[name] > 0}
        for target, theirs in medians[shape].items() if target != "viewgate"
    }
    for target, found in ratios[shape].items():
        print(f"  {shape:6} viewgate/{target:6} " + "  ".join(f"{name} {value}" for name, value in found.items()))
busy = sorted({f"{run['target']} {run['shape']}" for run in runs if run.get("client_cpu_percent", 0) > 90})
for which in busy:
    print(f"  {which}: the client's core was the bottleneck")
wrong = [run for run in runs if run.get("gaps") or run.get("lost")]
print(json.dumps({"bench": "peers", "medians": medians, "ratios": ratios, "client_bound": busy,
                  "runs_with_gaps_or_losses": len(wrong)}))
sys.exit(any(run["target"] == "viewgate" for run in wrong))
