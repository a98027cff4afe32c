#!/usr/bin/env python3
"""House rules that no formatter knows, checked on every tracked file. Prints each offence as file:line: what and why."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
offences = []


def offend(path, line, text):
    offences.append(f"{path}:{line}: {text}")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
                         cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [p for p in sorted(set(out.split("\0"))) if p and (ROOT / p).is_file()]


def lines_of(path):
    return (ROOT / path).read_text(encoding="utf-8").splitlines()


# Which layer may include which. The build's include roots say the same; this names the line.
ARROWS = {
    "ledger": {"ledger"},
    "projection": {"projection", "ledger"},
    "auth": {"auth"},
    "gateway": {"gateway", "projection", "ledger", "auth"},
    "loadtest": {"loadtest", "gateway"},
}
PROJECTION_MAY_SEE = {"ledger/commit.hpp", "ledger/conflict_group.hpp", "ledger/error.hpp", "ledger/mutation.hpp", "ledger/planted.hpp"}
LOADTEST_MAY_SEE = {"gateway/protocol.hpp", "gateway/protocol_json.hpp", "gateway/server_document.hpp", "gateway/ws_codec.hpp",
                    "gateway/utf8.hpp"}
# In the server, libpq is spoken in the ledger's connection and its error mapping, and where a cluster is made before there is one.
LIBPQ_PLACES = ("ledger/pg/", "ledger/error", "ledger/embedded", "ledger/migrate")

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')
BANNED = {
    r"\bTODO\b|\bFIXME\b|\bXXX\b": "no loose ends: do it, or say in docs/decisions.md why not",
    r"\busing namespace std\s*;": "spell it out",
    r"\bco_spawn\b.*\bdetached\b": "nothing is detached: name who ends it",
    r"experimental::(concurrent_)?channel": "broken in Boost 1.81 (asio issues 1236, 1241)",
    r"GTEST_SKIP|\bDISABLED_": "no skipped promise",
}
BANNED_IN_SCRIPTS = {r"\b(it|test|describe)\.(skip|only)\b": "no skipped promise"}
# GCC 12 frees twice what is built inside a full expression with co_await (PR 107288 and others): name it one line above.
CO_AWAIT_TRAP = re.compile(r"co_await[^;]*(\(\s*\{|\{\s*\.|\[\s*=|\[\s*\w+\s*=)")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|farm|root)/")
LINES_MAX = 500


def check_cpp(path):
    lines = lines_of(path)
    layer = path.split("/")[0]
    if len(lines) > LINES_MAX:
        offend(path, len(lines), f"over {LINES_MAX} lines: this file does two things")
    if path.endswith(".hpp") and "#pragma once" not in lines:
        offend(path, 1, "header without #pragma once")
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found:
            check_include(path, layer, number, found.group(1))
        for pattern, why in BANNED.items():
            if re.search(pattern, line) and not line.lstrip().startswith("//"):
                offend(path, number, why)
    for statement in re.finditer(r"[^;{}]*co_await[^;]*;", "\n".join(lines)):
        code = re.sub(r"//[^\n]*", "", statement.group(0))
        if CO_AWAIT_TRAP.search(code):
            offend(path, "\n".join(lines)[: statement.end()].count("\n") + 1,
                   "temporary built in an expression with co_await (GCC 12 frees it twice): name it one line above")


def check_include(path, layer, number, target):
    if target.startswith("../"):
        offend(path, number, "no ../ in includes: name the layer")
    if layer not in ARROWS:
        return
    first = target.split("/")[0]
    if first in ARROWS and first not in ARROWS[layer]:
        offend(path, number, f"{layer} must not see {first}")
    if layer == "projection" and first == "ledger" and target not in PROJECTION_MAY_SEE:
        offend(path, number, "projection sees the ledger's values only: " + ", ".join(sorted(PROJECTION_MAY_SEE)))
    if layer == "loadtest" and first == "gateway" and target not in LOADTEST_MAY_SEE:
        offend(path, number, "loadtest is a client: it sees the protocol only")
    if target == "libpq-fe.h" and layer != "loadtest" and not path.startswith(LIBPQ_PLACES):
        offend(path, number, "libpq is spoken in " + ", ".join(LIBPQ_PLACES))


def check_script(path):
    lines = lines_of(path)
    if path.endswith((".ts", ".mjs", ".py")) and len(lines) > LINES_MAX:
        offend(path, len(lines), f"over {LINES_MAX} lines: this file does two things")
    if path == "tests/tidy.py":
        return
    for number, line in enumerate(lines, 1):
        for pattern, why in {**BANNED, **BANNED_IN_SCRIPTS}.items():
            if re.search(pattern, line):
                offend(path, number, why)


def check_docs(path):
    for number, line in enumerate(lines_of(path), 1):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", line):
            if "://" not in target and not ((ROOT / path).parent / target).exists():
                offend(path, number, f"dead link to {target}")


def check_any(path):
    for number, line in enumerate(lines_of(path), 1):
        if MACHINE_PATH.search(line) and path != "tests/tidy.py":
            offend(path, number, "a path of one machine")
        if path.endswith("package-lock.json") and '"resolved"' in line:
            offend(path, number, "lock files without download addresses")


def check_alerts(rules, cases):
    """A rule whose labels never match is sound to promtool and never fires: a case must see each of them fire."""
    entries = re.split(r"alertname: ", (ROOT / cases).read_text(encoding="utf-8"))[1:]
    fired = {re.match(r"\w+", entry).group(0) for entry in entries if re.search(r"exp_alerts:\s*\n\s*- exp_labels", entry)}
    for number, line in enumerate(lines_of(rules), 1):
        found = re.match(r"\s*- alert: (\w+)", line)
        if found and found.group(1) not in fired:
            offend(rules, number, f"{found.group(1)} fires in no case of {cases}")


# How many rows the fault table has, and how many cases the client must pass; each is the name of a test, or a part of one.
PROMISED = {"row": 68, "case": 37}
TEST_NAME = {
    ".cpp": re.compile(r"^TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\)", re.MULTILINE),
    ".ts": re.compile(r"""^\s*it(?:\.each\(.*?\))?\(\s*['"`]([^'"`]+)""", re.MULTILINE),
}


def named():
    """The rows and the cases that the names of tests have: row_13_and_15_… is of two."""
    out = {what: set() for what in PROMISED}
    for path in tracked("tests/*.cpp", "tests/*.ts"):
        for name in TEST_NAME[pathlib.Path(path).suffix].findall((ROOT / path).read_text(encoding="utf-8")):
            for what, numbers in re.findall(r"(row|case)_(\d\d(?:(?:_and)?_\d\d(?!\d))*)", name):
                out[what].update(int(number) for number in re.findall(r"\d\d", numbers))
    return out


def check_named():
    for what, numbers in named().items():
        for number in set(range(1, PROMISED[what] + 1)) ^ numbers:
            offend("tests", 0, f"{what} {number:02} is the name of no test, or there is none of that number")


def main():
    if sys.argv[1:] == ["named"]:
        for what, numbers in named().items():
            print(f"  {what}s  {len(numbers)} of {PROMISED[what]}")
        return 0
    check_named()
    for path in tracked("*.cpp", "*.hpp"):
        check_cpp(path)
    for path in tracked("*.py", "*.sh", "*.ts", "*.mjs", "*.sql", "*.cmake", "CMakeLists.txt", "dev"):
        check_script(path)
    for path in tracked("*.md"):
        check_docs(path)
    check_alerts("docs/monitoring/alerts.yml", "docs/monitoring/alerts_test.yml")
    text = ("*.cpp", "*.hpp", "*.py", "*.sh", "*.ts", "*.mjs", "*.sql", "*.cmake", "*.md", "*.json", "*.html", "dev", ".ci/run")
    for path in tracked(*text):
        check_any(path)
    for offence in offences:
        print(offence)
    print(f"tidy: {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
