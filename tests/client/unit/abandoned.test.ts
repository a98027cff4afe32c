// Goal: what several pages did offline and left when they ended shows in the next page at once and happens once, all of it, whichever
// page comes. Method: IndexedDB and Web Locks in memory, pages whose token is on its way for as long as they shall be offline, a gateway
// in memory.

import 'fake-indexeddb/auto';
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  connect,
  connectShared,
  indexedDbStorage,
  optimistic,
  writer,
  type Client,
  type ClientOptions,
  type MutationRejected,
  type Optimistic,
  type SocketConstructor,
  type Storage,
  type Writer,
} from '@viewgate/client';
import { FakeLocks } from '../support/fake_locks.js';
import { FakeServer, eventually } from '../support/fake_server.js';
import type { Account } from '../support/model_gateway.js';

interface Page {
  readonly storage: Storage;
  readonly client: Client;
  readonly write: Writer;
  readonly accounts: Optimistic<Account>;
  /** Its token comes. */
  readonly goOnline: () => void;
}

let server: FakeServer;
let url: string;
let locks: FakeLocks;
let uninstall: () => void;
const clients: Client[] = [];

async function open(make: (options: ClientOptions) => Client = connect): Promise<Page> {
  const storage = await indexedDbStorage({ principal: 'alice' });
  let goOnline = (): void => undefined;
  const token = new Promise<string>((resolve) => (goOnline = () => resolve('token')));
  const client = make({ url, token: () => token, store: storage.store, WebSocket: WebSocket as unknown as SocketConstructor });
  clients.push(client);
  const write = writer(client, { store: storage.mutations });
  const view = client.subscribe<Account>('above', { space: '1', params: { low: -10 } });
  const accounts = optimistic<Account>(write, view, { collection: 'accounts', key: ['id'] });
  return { storage, client, write, accounts, goOnline };
}

/** Pages that each make so many records offline, and end. Gives their names. */
async function left(...counts: number[]): Promise<string[]> {
  const pages: Page[] = [];
  for (const count of counts) {
    const page = await open();
    pages.push(page);
    for (let i = 0; i < count; ++i) void page.accounts.create({ id: 100 * pages.length + i, a: 1, b: `of page ${pages.length}` });
  }
  await eventually('all of it is stored', async () => (await stored()) === counts.reduce((sum, count) => sum + count, 0));
  locks.endPage();
  return pages.map(({ write }) => write.client);
}

/** How many mutations the storage has, of all clients. */
function stored(): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('viewgate alice');
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const found = request.result.transaction('mutations').objectStore('mutations').getAll(IDBKeyRange.lowerBound([]));
      found.onsuccess = () => {
        request.result.close();
        resolve((found.result as { texts: string[] }[]).reduce((sum, { texts }) => sum + texts.length, 0));
      };
    };
  });
}

function applied(): string[] {
  return [...server.ledger.desk.applied].sort();
}

beforeEach(async () => {
  Object.assign(globalThis, { indexedDB: new IDBFactory(), IDBKeyRange });
  locks = new FakeLocks();
  uninstall = locks.install();
  server = new FakeServer(3);
  url = await server.listen();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  uninstall();
  await server.close();
});

describe('what several pages left', () => {
  it('shows_in_the_next_page_at_once_and_is_sent_by_it_each_under_the_name_of_its_own', async () => {
    const names = await left(1, 2, 1, 1, 1, 1, 1);
    const page = await open();
    expect(page.write.client).toBe(names[1]);
    // So many at a time: its own, and four others.
    await eventually('it shows', () => page.write.unanswered === 6);
    expect(page.accounts.size).toBe(6);
    expect(page.accounts.get([200])?.b).toBe('of page 2');
    const gone: string[] = [];
    page.accounts.subscribe(({ left: out, deleted }) => gone.push(...[...out, ...deleted].map(({ key }) => key)));
    page.goOnline();
    await eventually('all is applied', () => applied().length === 8);
    expect(applied()).toEqual(names.flatMap((name, i) => (i === 1 ? [`${name} 1`, `${name} 2`] : [`${name} 1`])).sort());
    await eventually('nothing is pending', () => page.write.unanswered === 0 && [...page.write.pending()].length === 0);
    expect(page.accounts.view.size).toBe(8);
    // No record was away between the overlay and the view.
    expect(gone).toEqual([]);
    await eventually('nothing is left', async () => (await stored()) === 0);
    await eventually('one line is left', () => server.open === 1);
  });

  it('while_this_one_was_there_is_sent_when_it_is_online_again', async () => {
    const page = await open();
    page.goOnline();
    await page.accounts.view.whenReady();
    const [name] = await left(2);
    server.cut();
    await eventually('it is applied', () => applied().length === 2);
    expect(applied()).toEqual([`${name} 1`, `${name} 2`]);
    await eventually('it is seen, and nothing is pending', () => page.accounts.view.size === 2 && [...page.write.pending()].length === 0);
  });

  it('is_for_the_next_one_where_this_one_is_closed_before', async () => {
    const names = await left(1, 2);
    const page = await open();
    await eventually('it shows', () => page.write.unanswered === 3);
    page.client.close();
    const next = await open();
    await eventually('it shows there', () => next.write.unanswered === 3);
    next.goOnline();
    await eventually('all is applied', () => applied().length === 3);
    expect(applied()).toEqual([`${names[0]} 1`, `${names[1]} 1`, `${names[1]} 2`].sort());
    await eventually('nothing is pending', () => next.write.unanswered === 0 && next.accounts.view.size === 3);
    // The one before finds nothing of them any more.
    page.goOnline();
    page.client.retry();
    await eventually('it is online', () => page.client.status === 'online');
    await eventually('its view is the set', () => page.accounts.view.size === 3);
    expect(applied().length).toBe(3);
  });

  it('is_gone_on_with_by_a_client_that_is_started_again', async () => {
    await left(1, 2);
    const page = await open();
    await eventually('it shows', () => page.write.unanswered === 3);
    page.client.close();
    page.client.retry();
    page.goOnline();
    await eventually('all is applied', () => applied().length === 3 && page.write.unanswered === 0);
  });

  it('is_gone_on_with_by_a_client_that_is_started_again_and_online_before_it_has_its_name_back', async () => {
    await left(1, 2);
    const page = await open();
    await eventually('it shows', () => page.write.unanswered === 3);
    page.client.close();
    let free = (): void => undefined;
    void locks.request(`viewgate alice ${page.write.client}`, {}, () => new Promise<void>((resolve) => (free = resolve)));
    page.client.retry();
    page.goOnline();
    await eventually('it is online', () => page.client.status === 'online');
    free();
    await eventually('all is applied', () => applied().length === 3 && page.write.unanswered === 0);
  });

  it('and_is_rejected_is_told_to_this_one', async () => {
    await left(1, 2);
    const page = await open();
    page.goOnline();
    await eventually('all is applied', () => applied().length === 3 && page.write.unanswered === 0);
    page.client.close();
    await left(1, 2);
    const again = await open();
    const rejected: MutationRejected[] = [];
    again.write.onRejected((error) => rejected.push(error));
    again.goOnline();
    await eventually('all have answers', () => again.write.unanswered === 0 && rejected.length === 3);
    expect(new Set(rejected.map(({ reason }) => reason))).toEqual(new Set(['already_exists']));
    expect([...again.write.pending()]).toEqual([]);
  });

  it('is_rejected_and_not_sent_where_somebody_else_signs_in', async () => {
    await left(1, 2);
    const page = await open();
    const rejected: MutationRejected[] = [];
    page.write.onRejected((error) => rejected.push(error));
    await eventually('it shows', () => page.write.unanswered === 3);
    server.principal = 'bob';
    page.goOnline();
    await eventually('all of it is given up', () => rejected.length === 3);
    expect(rejected.map(({ reason }) => reason)).toEqual(['signed_out', 'signed_out', 'signed_out']);
    expect(page.write.unanswered).toBe(0);
    await eventually('nothing is left', async () => (await stored()) === 0);
    expect(server.received.filter(({ type }) => type === 'mutate')).toEqual([]);
  });

  it('after_a_sign_out_is_not_for_a_page_that_was_there_before_it', async () => {
    const page = await open();
    const other = await indexedDbStorage({ principal: 'alice' });
    await other.clear();
    const [name] = await left(2);
    page.goOnline();
    await eventually('it is online', () => page.accounts.view.status === 'live');
    expect(page.write.unanswered).toBe(0);
    expect(await stored()).toBe(2);
    expect((await indexedDbStorage({ principal: 'alice' })).mutations.client).toBe(name);
  });

  it('goes_over_lines_of_its_own_also_where_tabs_share_one', async () => {
    const names = await left(1, 2);
    const page = await open((options) => connectShared({ ...options, principal: 'alice' }));
    page.goOnline();
    await eventually('all is applied', () => applied().length === 3 && page.write.unanswered === 0);
    expect(applied()).toEqual([`${names[0]} 1`, `${names[1]} 1`, `${names[1]} 2`].sort());
    await eventually('one line is left', () => server.open === 1);
    expect(page.client.status).toBe('online');
    await eventually('its view is the set', () => page.accounts.view.size === 3);
  });
});
