// Goal: the demo's programs come through what a machine does to them: PostgreSQL that is not up yet, a gateway that does not start again.
// Method: the real scripts, with programs of a line instead of PostgreSQL's and the gateway.

import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { Pgbench } from '../../../demo/pgbench.mjs';
import { eventually } from '../support/fake_server.js';

let folder: string;
let running: ChildProcess | undefined;

function program(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'viewgate-demo-'));
  process.env['VIEWGATE_POSTGRES_BIN'] = folder;
  program('pgbench', 'exec sleep 600');
  program('psql', 'echo t');
});

afterEach(() => {
  running?.kill('SIGKILL');
  running = undefined;
  delete process.env['VIEWGATE_POSTGRES_BIN'];
  rmSync(folder, { recursive: true, force: true });
});

describe('the writer of the demo', () => {
  it('a_rate_that_is_set_before_the_database_is_up_is_in_force_when_it_is', async () => {
    let isUp = false;
    const pgbench = new Pgbench(() => {
      if (!isUp) throw new Error('no database yet');
      return 'a database';
    });
    await pgbench.setRate(10);
    expect([pgbench.rate, pgbench.isRunning, pgbench.failure]).toEqual([10, false, 'no database yet']);
    // Its own next tries fail, too, and another rate is taken all the same.
    await new Promise((next) => setTimeout(next, 1_500));
    await pgbench.setRate(20);
    isUp = true;
    await eventually('it runs by itself', () => pgbench.isRunning && pgbench.failure === undefined);
    expect(pgbench.rate).toBe(20);
    await pgbench.setRate(0);
    expect([pgbench.rate, pgbench.isRunning]).toEqual([0, false]);
  });
});

describe('the demo', () => {
  it('a_gateway_that_does_not_come_back_after_a_kill_ends_the_demo_with_its_reason', async () => {
    const data = join(folder, 'data');
    // Nobody may put cards on the board, so that nothing waits for it.
    const door = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await new Promise((resolve) => door.once('listening', resolve));
    door.on('connection', (socket) => socket.close(4003));
    // The first one comes up, the second one ends.
    const gateway = program(
      'gateway',
      `[ "$1" = serve ] || { echo token; exit 0; }
[ ! -e "${folder}/started" ] || exit 3
touch "${folder}/started"
mkdir -p "${data}/data"
printf '1\\n\\n\\n\\n/socket\\n' > "${data}/data/postmaster.pid"
echo 127.0.0.1:${(door.address() as AddressInfo).port} > "${data}/ready"
exec sleep 600`,
    );
    const script = fileURLToPath(new URL('../../../demo/run.mjs', import.meta.url));
    running = spawn(process.execPath, [script, gateway, data, '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    running.stdout?.on('data', (text) => (said += String(text)));
    running.stderr?.on('data', (text) => (said += String(text)));
    const ended = new Promise<number | null>((resolve) => running?.once('exit', resolve));
    await eventually('the demo is up', () => /pgbench is live at http/.test(said), 60_000);
    expect(existsSync(join(folder, 'started'))).toBe(true);
    const url = /pgbench is live at (\S+)/.exec(said)?.[1] ?? '';
    const kill = (): Promise<number> =>
      fetch(new URL('kill', url), { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then(
        ({ status }) => status,
        () => 0,
      );
    const answers = await Promise.all([kill(), kill()]);
    expect(answers).not.toContain(200);
    expect(await ended).toBe(1);
    expect(said).toContain('the gateway ended with 3');
    door.close();
  });
});
