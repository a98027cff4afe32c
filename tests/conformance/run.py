#!/usr/bin/env python3
"""The Autobahn cases against the gateway's frames: run.py ECHO_PROGRAM, under a Python that has `kosoku`.

Prints the cases that failed, or how many passed; status 1 where one failed. Cases that want a binary message back are left out, by name:
this protocol is text, and a binary message ends the connection with 1003, which our own table of RFC 6455 tests
(tests/gateway/codec_read_test.cpp, row_06). So are 12 and 13: compression is not negotiated.
"""

import asyncio
import subprocess
import sys

import kosoku

BINARY = ["1.2.*", "9.2.*", "9.4.*", "9.6.*", "9.8.*"]
COMPRESSION = ["12.*", "13.*"]
CATEGORIES = [f"{number}.*" for number in (1, 2, 3, 4, 5, 6, 7, 9, 10)]


async def run(port):
    return await kosoku.run_fuzzingclient(f"ws://127.0.0.1:{port}", cases=CATEGORIES, exclude_cases=BINARY + COMPRESSION, concurrency=2)


def main():
    echo = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        results = asyncio.run(run(int(echo.stdout.readline())))
    except kosoku.FailureError as failure:
        for each in [each for each in failure.results if not each.passed] or [failure]:
            print(f"failed: {each}")
        return 1
    finally:
        echo.stdin.close()
        echo.wait(timeout=60)
    print(f"autobahn: {len(results)} cases, none failed")
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
