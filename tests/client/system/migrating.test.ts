// Goal: what docs/migrating shows is what one gets. Method: each guide's tables, model, new client code and writes, as they stand there,
// against the built gateway; the page's `show` must be given what the guide says.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { connect, type Client, type ClientOptions, type SocketConstructor } from '../../../client/src/index.js';
import { eventually } from '../support/fake_server.js';
import { Stack } from '../support/stack.js';

const folder = fileURLToPath(new URL('../../../docs/migrating/', import.meta.url));
const stack = new Stack();
const clients: Client[] = [];

/** The fenced blocks of a language, in order. */
function blocks(guide: string, language: string): string[] {
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text ?? '');
}

/** A token as the application's own service would make it. */
function tokenOf(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const head = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: 'viewgate', aud: 'viewgate', iat: now, exp: now + 600, ...claims })}`;
  return `${head}.${createHmac('sha256', readFileSync(stack.keyFile)).update(head).digest('base64url')}`;
}

interface Row {
  readonly id: number;
}

function inOrder(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => a.id - b.id);
}

beforeAll(() => stack.start());
afterAll(async () => {
  for (const client of clients) client.close();
  await stack.stop();
});

describe('the guides', () => {
  const guides = readdirSync(folder).sort();
  it('are_three', () => expect(guides).toEqual(['electric.md', 'notify.md', 'supabase.md']));

  it.each(guides)('of_%s_what_is_shown_is_what_one_gets', async (name) => {
    const guide = readFileSync(join(folder, name), 'utf8');
    const [tables = '', model = '', writes = '', end = ''] = blocks(guide, 'sql');
    const [claims = '', before = '', after = ''] = blocks(guide, 'json');
    const [, code = ''] = blocks(guide, 'js');
    await stack.query(tables);
    const file = join(stack.folder, 'model.sql');
    writeFileSync(file, model);
    await stack.applyModel(file);

    let shown: readonly Row[] = [];
    const names = ['connect', 'url', 'token', 'show'];
    const page = new Function(...names, code.replace(/^import .*\n/gm, '')) as (...values: unknown[]) => void;
    const token = tokenOf(JSON.parse(claims) as object);
    page(
      (options: ClientOptions) => {
        const client = connect({ ...options, WebSocket: WebSocket as unknown as SocketConstructor });
        clients.push(client);
        return client;
      },
      stack.socketUrl,
      () => token,
      (rows: readonly Row[]) => (shown = rows),
    );
    const shows = (text: string): Promise<void> =>
      eventually(`${name} shows ${text}`, () => JSON.stringify(inOrder(shown)) === JSON.stringify(JSON.parse(text)));
    await shows(before);
    await stack.query(writes);
    await shows(after);
    await stack.query(end);
    await stack.query(`delete from ${/create table (\w+)/.exec(model)?.[1] ?? ''}`);
    await shows('[]');  // and still goes on without what was there before
  });
});
