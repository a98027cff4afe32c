"""Follows one view and prints a line of JSON for each change; the last commit wanted ends it with the whole set.

    python3 follow.py URL TOKEN_COMMAND VIEW SPACE PARAMS

Each line that comes on standard input is a sequence: once the view stands there or beyond, its records are printed, sorted by key.
"""

import asyncio
import json
import subprocess
import sys

from viewgate import LiveView


async def main(url, token_command, view, space, params):
    live = LiveView(url, lambda: subprocess.check_output(token_command, shell=True, text=True).strip(), view, space, json.loads(params))
    wanted = asyncio.Queue()
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)

    async def read_wanted():
        while line := await lines.readline():
            await wanted.put(int(line))

    async def answer():
        while True:
            sequence = await wanted.get()
            while live.sequence < sequence:
                await asyncio.sleep(0.02)
            print(json.dumps({"sequence": live.sequence, "records": sorted(live.records.items())}, default=str), flush=True)

    async def follow():
        async for change in live.follow():
            counts = [len(each) for each in (change.entered, change.updated, change.left, change.deleted)]
            print(json.dumps({"change": change.sequence, "replaced": change.replaced, "at": change.at, "counts": counts}), flush=True)

    tasks = [asyncio.create_task(each()) for each in (follow, answer, read_wanted)]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:6]))
