// Goal: the core stays small, and its published form, in which names are shortened, does what the sources do. Method: the form is made,
// measured through a bundler, and run against a gateway in memory.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { carriedBytes, internalNames, pack } from '../../../client/pack.mjs';
import type * as Sources from '../../../client/src/index.js';
import { FakeServer, eventually } from '../support/fake_server.js';

const folder = mkdtempSync(join(tmpdir(), 'viewgate-published-'));
let published: ReadonlyMap<string, string>;

beforeAll(async () => {
  published = await pack();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the published package', () => {
  it('the_core_is_under_8_kilobytes_gzipped', async () => {
    expect(await carriedBytes(['connect'], published)).toBeLessThan(8 * 1024);
  });

  it('no_name_that_anybody_else_uses_is_shortened', () => {
    const names = internalNames();
    expect(names).toContain('byWire');
    for (const name of ['whenReady', 'sequence', 'retry_after', 'entered', 'addEventListener', 'restoring']) expect(names).not.toContain(name);
  });

  it('it_follows_orders_and_writes_as_the_sources_do', async () => {
    for (const [name, text] of published) writeFileSync(join(folder, name.replace(/\.js$/, '.mjs')), text);
    const { connect, optimistic, ordered, writer } = (await import(pathToFileURL(join(folder, 'index.mjs')).href)) as typeof Sources;
    const server = new FakeServer(17);
    const client = connect({ url: await server.listen(), token: () => 'token', WebSocket: WebSocket as unknown as Sources.SocketConstructor });
    try {
      const view = client.subscribe<{ id: number; a: number }>('above', { space: '1', params: { low: 0 } });
      const accounts = optimistic(writer(client), view, { collection: 'accounts', key: ['id'] });
      const list = ordered(accounts, { by: (x, y) => y.a - x.a });
      await view.whenReady();
      for (const id of [1, 2, 3]) expect((await accounts.put({ id, a: id })).outcome).toBe('applied');
      await eventually('all are confirmed', () => view.size === 3 && !accounts.isPending([3]));
      expect(list.list.map((item) => item.record.id)).toEqual([3, 2, 1]);
      server.cut();
      await eventually('it is back', () => server.connections === 2 && view.status === 'live');
    } finally {
      client.close();
      await server.close();
    }
  });
});
