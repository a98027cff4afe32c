// Goal: the Python client shows nothing that is void. Method: documents are given to it one by one, without a socket.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../../client/python', import.meta.url));

/** Gives the documents to a view, and what it holds after each of them. Its sockets are of no use here, so their package may be missing. */
const script = `
import json, sys, types
sys.dont_write_bytecode = True
sys.modules["websockets"] = types.ModuleType("websockets")
sys.path.insert(0, sys.argv[1])
from viewgate import LiveView, loads
view = LiveView("url", lambda: "token", "view", "space")
view._staging, view._parts, view._channel = None, [], None
for line in sys.stdin:
    view._take(loads(line))
    print(json.dumps([[key, record["a"]] for key, record in view.records.items()]))
`;

function fold(documents: readonly object[]): unknown[] {
  const input = documents.map((document) => JSON.stringify(document)).join('\n');
  const output = execFileSync('/usr/bin/python3', ['-c', script, folder], { input, encoding: 'utf8' });
  return output.trim().split('\n').map((line) => JSON.parse(line) as unknown);
}

const subscribed = { type: 'subscribed', id: 'view', channel: 'c', context: 'x', resumed: false };
const set = (a: number): object[] => [
  subscribed,
  { type: 'snapshot', channel: 'c', records: [{ key: [1], record: { id: 1, a } }] },
  { type: 'ready', channel: 'c', sequence: String(a), position: 'p', head: String(a) },
];
const part = { type: 'commit', channel: 'c', sequence: '6', last: false, events: [{ kind: 'updated', key: [1], changed: { a: 6 } }] };
const reset = (reason: string): object => ({ type: 'reset_required', id: 'view', reason });
const entered = { kind: 'entered', key: [2], record: { id: 2, a: 10 } };
const commit = { type: 'commit', channel: 'c', sequence: '10', position: 'p', events: [entered] };

/** What a refusal says of itself. */
const refusal = `
import sys, types
sys.dont_write_bytecode = True
sys.modules["websockets"] = types.ModuleType("websockets")
sys.path.insert(0, sys.argv[1])
from viewgate import LiveView, Refused, loads
try:
    LiveView("url", lambda: "token", "view", "space")._take(loads(sys.stdin.read()))
except Refused as refused:
    print(refused.code, refused.connection)
`;

/** A set that never fits: each connection reads it, and its first commit contradicts it; the seventh one lived ten seconds. The waits between, at most. */
const misfits = `
import asyncio, json, sys, types
sys.dont_write_bytecode = True
fake = types.ModuleType("websockets")
fake.InvalidHandshake = fake.ConnectionClosed = type("Never", (Exception,), {})
sys.modules["websockets"] = fake
sys.path.insert(0, sys.argv[1])
import viewgate
class Stop(Exception): pass
documents = [viewgate.loads(line) for line in sys.stdin]
view = viewgate.LiveView("url", lambda: "token", "view", "space")
clock, waits = [0.0], []
async def connection():
    view._staging, view._parts, view._channel = None, [], None
    for document in documents:
        if document["type"] == "commit" and len(waits) == 6:
            clock[0] += 10
        change = view._take(document)
        if change is not None:
            yield change
async def sleep(seconds):
    waits.append(seconds)
    if len(waits) == 8:
        raise Stop()
view._connection = connection
viewgate.time.monotonic = lambda: clock[0]
viewgate.random.uniform = lambda low, high: high
viewgate.asyncio.sleep = sleep
async def main():
    async for change in view.follow(): pass
try:
    asyncio.run(main())
except Stop:
    print(json.dumps(waits))
`;

/** The close code of each connection in turn, W for one that is welcomed; how often it connected, and what ended it. */
const closes = `
import asyncio, sys, types
sys.dont_write_bytecode = True
class Closed(Exception):
    def __init__(self, code):
        self.code, self.reason = code, "no"
fake = types.ModuleType("websockets")
fake.InvalidHandshake, fake.ConnectionClosed = type("Never", (Exception,), {}), Closed
sys.modules["websockets"] = fake
sys.path.insert(0, sys.argv[1])
import viewgate
ends, tokens = sys.argv[2].split(), []
class Socket:
    async def __aenter__(self): return self
    async def __aexit__(self, *error): pass
    async def send(self, text): pass
    async def recv(self):
        if ends[0] == "W":
            ends.pop(0)
            return '{"type":"welcome","principal":"ada","heartbeat":20}'
        raise Closed(int(ends.pop(0)))
fake.connect = lambda url, **options: Socket()
async def sleep(seconds): pass
viewgate.asyncio.sleep = sleep
async def main():
    async for change in viewgate.LiveView("url", lambda: tokens.append(1) or "token", "view", "space").follow(): pass
try:
    asyncio.run(main())
except viewgate.Refused as refused:
    print(type(refused).__name__, refused.code, len(tokens))
`;

describe('the Python client', () => {
  it('a_token_that_is_refused_twice_in_a_row_is_told_by_name', () => {
    const end = (codes: string): string => execFileSync('/usr/bin/python3', ['-c', closes, folder, codes], { encoding: 'utf8' }).trim();
    expect(end('4001 4001 1006')).toBe('TokenRefused 4001 2');
    // One that ends while it is in use is no row, and a broken link says nothing of it.
    expect(end('4001 1006 W 4001 W 1006 4001 4001')).toBe('TokenRefused 4001 6');
    expect(end('1006 4003')).toBe('Refused 4003 2');
  });

  it('a_set_that_never_fits_is_read_anew_at_a_slower_and_slower_pace', () => {
    const twice = { type: 'commit', channel: 'c', sequence: '10', position: 'p', events: [{ ...entered, key: [1] }] };
    const input = [...set(5), twice].map((document) => JSON.stringify(document)).join('\n');
    const waits = execFileSync('/usr/bin/python3', ['-c', misfits, folder], { input, encoding: 'utf8' });
    expect(JSON.parse(waits)).toEqual([1, 2, 4, 8, 16, 30, 1, 2]);
  });

  it('a_refusal_says_under_which_id_the_server_logged_it', () => {
    const why = (document: object): string =>
      execFileSync('/usr/bin/python3', ['-c', refusal, folder], { input: JSON.stringify(document), encoding: 'utf8' }).trim();
    const error = { type: 'error', id: 'view', code: 'forbidden', message: 'm' };
    expect(why({ ...error, connection: 'abc', later: [1] })).toBe('forbidden abc');
    expect(why(error)).toBe('forbidden None');
  });

  it('parts_of_a_commit_that_a_reset_interrupts_are_dropped', () => {
    const held = fold([...set(5), part, reset('view_changed'), ...set(9), commit]);
    expect(held.pop()).toEqual([['[1]', 9], ['[2]', 10]]);
  });

  it('after_authorization_changed_the_old_records_are_gone_at_once_and_after_another_reset_they_stay', () => {
    expect(fold([...set(5), reset('authorization_changed')]).pop()).toEqual([]);
    expect(fold([...set(5), reset('history_pruned')]).pop()).toEqual([['[1]', 5]]);
  });
});
