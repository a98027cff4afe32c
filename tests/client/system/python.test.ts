// Goal: docs/protocol.md is enough to write a client in another language. Method: client/python, which was written from it, follows
// pgbench through a killed and a drained gateway; what it holds is the query.

import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { end } from '../../../demo/programs.mjs';
import { Pgbench } from '../../../demo/pgbench.mjs';
import { eventually } from '../support/fake_server.js';
import { Stack } from '../support/stack.js';

interface Line {
  readonly change?: number;
  readonly replaced?: boolean;
  readonly counts?: readonly number[];
  readonly at?: string | null;
  readonly records?: readonly [string, { aid: number; abalance: number }][];
}

const script = fileURLToPath(new URL('../../../client/python/follow.py', import.meta.url));
const stack = new Stack();
const pgbench = new Pgbench(() => stack.database, 4);
let follower: ChildProcess;
const lines: Line[] = [];
let said = '';

beforeAll(async () => {
  await stack.start();
  const token = stack.tokenCommand('teller-3', '3');
  // Debian's own Python, which is the one that Debian's packages are for.
  follower = spawn('/usr/bin/python3', [script, stack.socketUrl, token, 'overdrawn', '1', '{}'], {
    env: stack.environment,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let rest = '';
  follower.stdout?.on('data', (data: Buffer) => {
    const parts = (rest + String(data)).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part) as Line);
  });
  follower.stderr?.on('data', (data: Buffer) => (said += String(data)));
});

afterAll(async () => {
  await pgbench.setRate(0);
  await end(follower, 'SIGKILL');
  await stack.stop();
});

function changes(): Line[] {
  return lines.filter(({ change }) => change !== undefined);
}

describe('a client in Python', () => {
  it('what_it_holds_is_the_query_after_a_killed_and_a_drained_gateway', async () => {
    await eventually('it has the set', () => changes().some(({ replaced }) => replaced === true), 60_000).catch((error: Error) => {
      throw new Error(`${error.message}: ${said}`);
    });
    const began = Date.now();
    await pgbench.setRate(200);
    for (const stop of [() => stack.killGateway(), () => stack.drainGateway()]) {
      const before = changes().length;
      await eventually('commits come', () => changes().length > before + 20, 60_000);
      await stop();
      await stack.startGateway();
      const after = changes().length;
      await eventually('commits come again', () => changes().length > after + 20, 60_000);
    }
    await pgbench.setRate(0);
    const head = await stack.settledHead('1');
    follower.stdin?.write(`${head}\n`);
    await eventually('it is at the head', () => lines.some(({ records }) => records !== undefined), 60_000);
    const held = (lines.find(({ records }) => records !== undefined)?.records ?? []).map(([key, { abalance }]) => `${key}${abalance}`);
    const rows = await stack.query(`select '[' || aid || ']' || abalance from pgbench_accounts where bid = 1 and abalance < 0`);
    expect(held.length).toBeGreaterThan(40_000);
    expect(held.sort()).toEqual(rows.sort());
    expect(changes().filter(({ replaced }) => replaced).length).toBe(1);
    const times = changes().flatMap(({ replaced, at }) => (replaced === true ? [] : [Date.parse(at ?? '')]));
    expect(times.every((time) => time > began && time <= Date.now())).toBe(true);
    expect(said).toBe('');
  });
});
