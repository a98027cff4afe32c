// Goal: what is stored is always a set with the cursor that belongs to it, of one principal, or nothing. Method: IndexedDB in memory,
// a client against a gateway in memory; pages that end at any moment, that share the storage, that cannot have one.

import 'fake-indexeddb/auto';
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  connect,
  indexedDbStorage,
  writer,
  type Client,
  type ClientOptions,
  type SocketConstructor,
  type Storage,
  type View,
} from '@viewgate/client';
import { done } from '../../../client/src/database.js';
import { FakeLocks } from '../support/fake_locks.js';
import { FakeServer, eventually } from '../support/fake_server.js';
import { Line } from '../support/line.js';
import { query, type Account } from '../support/model_gateway.js';
import { Random, seeds } from '../support/random.js';

let server: FakeServer;
let url: string;
const clients: Client[] = [];
const errors: unknown[] = [];

async function open(principal = 'alice', options: Partial<ClientOptions> = {}): Promise<{ client: Client; view: View<Account>; storage: Storage }> {
  const storage = await indexedDbStorage({ principal, onError: (error) => errors.push(error) });
  const client = connect({
    url,
    token: () => 'token',
    store: storage.store,
    WebSocket: WebSocket as unknown as SocketConstructor,
    ...options,
  });
  clients.push(client);
  return { client, storage, view: client.subscribe<Account>('above', { space: '1', params: { low: -5 } }) };
}

/** The stored set and its sequence, as another page would find them. */
async function stored(principal = 'alice'): Promise<{ sequence: string; texts: string[] } | undefined> {
  const { store } = await indexedDbStorage({ principal });
  const found = await store.load({ space: '1', view: 'above', params: { low: -5 } });
  return found && { sequence: found.sequence, texts: [...found.records].map(([, text]) => text).sort() };
}

/** The stored mutations, as they stand there. */
async function kept(principal = 'alice'): Promise<unknown[]> {
  const database = await done(indexedDB.open(`viewgate ${principal}`));
  const found = await done(database.transaction('mutations').objectStore('mutations').getAll(IDBKeyRange.lowerBound([])));
  database.close();
  return found as unknown[];
}

function queryAt(sequence: string): string[] {
  const state = server.ledger.states('1')[Number(sequence)] ?? new Map<number, Account>();
  return [...query(state, 'above', { low: -5 }).values()].sort();
}

function head(): string {
  return String(server.ledger.head('1'));
}

beforeEach(async () => {
  Object.assign(globalThis, { indexedDB: new IDBFactory(), IDBKeyRange });
  errors.length = 0;
  server = new FakeServer(5);
  for (let i = 0; i < 20; ++i) server.ledger.write(server.random, '1');
  url = await server.listen();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
});

describe('a storage', () => {
  it('a_reload_shows_the_stored_view_without_a_connection_and_goes_on_from_its_cursor', async () => {
    const first = await open();
    await first.view.whenReady();
    await eventually('it is stored', async () => (await stored())?.sequence === first.view.sequence);
    first.client.close();
    for (let i = 0; i < 5; ++i) server.ledger.write(server.random, '1');
    const late: (() => void)[] = [];
    const second = await open('alice', { token: () => new Promise((resolve) => late.push(() => resolve('token'))) });
    await second.view.whenReady();
    expect(second.view.status).toBe('connecting');
    expect([...second.view.items()].map((item) => item.text).sort()).toEqual(queryAt(second.view.sequence));
    const before = server.received.length;
    for (const answer of late) answer();
    await eventually('it is at the head', () => second.view.status === 'live' && second.view.sequence === head());
    const subscribes = server.received.slice(before).filter((message) => message['type'] === 'subscribe');
    expect(subscribes.map((message) => typeof message['cursor'])).toEqual(['string']);
    expect([...second.view.items()].map((item) => item.text).sort()).toEqual(queryAt(head()));
  });

  it('whenever_a_page_ends_the_stored_set_is_the_query_at_its_cursor', async () => {
    for (const seed of seeds(6)) {
      const random = new Random(seed);
      for (let page = 0; page < 4; ++page) {
        const { client, view } = await open();
        await view.whenReady();
        for (let i = 0; i < 15; ++i) {
          server.ledger.write(server.random, '1');
          if (random.chance(20)) server.cut();
          await new Promise((next) => setTimeout(next, random.below(4)));
        }
        client.close();
        const found = await stored();
        if (found !== undefined) expect(found.texts, `seed ${seed}`).toEqual(queryAt(found.sequence));
      }
    }
    expect(errors).toEqual([]);
  });

  it('two_pages_of_one_principal_do_not_mix_their_sets', async () => {
    const pages = [await open(), await open()];
    for (const { view } of pages) await view.whenReady();
    for (let i = 0; i < 40; ++i) {
      server.ledger.write(server.random, '1');
      await new Promise((next) => setTimeout(next, 2));
      const found = await stored();
      if (found !== undefined) expect(found.texts).toEqual(queryAt(found.sequence));
    }
    await eventually('one of them has stored it', async () => Number((await stored())?.sequence ?? 0) > 30);
  });

  it('another_principal_finds_nothing_and_leaves_the_storage_of_the_first_alone', async () => {
    const first = await open();
    await first.view.whenReady();
    await eventually('it is stored', async () => (await stored()) !== undefined);
    expect(await stored('bob')).toBeUndefined();
  });

  it('a_token_of_somebody_else_than_the_storage_is_for_clears_it_and_shows_nothing_of_it', async () => {
    const first = await open();
    await first.view.whenReady();
    await eventually('it is stored', async () => (await stored()) !== undefined);
    first.client.close();
    server.principal = 'bob';
    const second = await open();
    const shown: number[] = [];
    second.view.subscribe(() => shown.push(second.view.size));
    await eventually('it is bob’s', () => second.client.principal === 'bob' && second.view.status === 'live');
    expect(shown).toContain(0);
    await eventually('it is cleared', async () => (await stored()) === undefined);
    server.ledger.write(server.random, '1');
    await eventually('it went on', () => second.view.sequence === head());
    expect(await stored()).toBeUndefined();
  });

  it('what_is_still_being_read_when_somebody_else_signs_in_is_not_shown_to_them', async () => {
    const first = await open();
    await first.view.whenReady();
    await eventually('it is stored', async () => (await stored()) !== undefined);
    first.client.close();
    for (const end of ['another token', 'a revocation']) {
      server.principal = end === 'another token' ? 'bob' : 'alice';
      const { store } = await indexedDbStorage({ principal: 'alice' });
      const found = await store.load({ space: '1', view: 'above', params: { low: -5 } });
      let answer: () => void = () => undefined;
      const slow: typeof store = {
        principal: store.principal,
        load: () => new Promise((resolve) => (answer = () => resolve(found))),
        save: (shown) => store.save(shown),
        // What was found is still in the hand of whoever reads it.
        clear: () => undefined,
      };
      const before = server.received.length;
      const { client, view } = await open('alice', { store: slow });
      const shown: number[] = [];
      view.subscribe(({ entered }) => shown.push(entered.length));
      await eventually('it is welcome', () => client.status === 'online');
      if (end === 'a revocation') server.end(4005);
      await eventually(end, () => client.status === 'denied' || view.status === 'live');
      const seen = shown.length;
      answer();
      for (let turn = 0; turn < 5; ++turn) await new Promise(setImmediate);
      expect([shown.length, view.status], end).toEqual(end === 'a revocation' ? [0, 'denied'] : [seen, 'live']);
      expect(server.received.slice(before).filter(({ cursor }) => cursor !== undefined)).toEqual([]);
      client.close();
    }
  });

  it('what_is_read_while_it_is_cleared_or_was_stored_after_that_is_not_this_page_s', async () => {
    const { client, view, storage } = await open();
    await view.whenReady();
    await eventually('it is stored', async () => (await stored()) !== undefined);
    const name = { space: '1', view: 'above', params: { low: -5 } };
    const other = await indexedDbStorage({ principal: 'alice' });
    const reading = storage.store.load(name);
    client.close();
    await storage.clear();
    expect(await reading).toBeUndefined();
    const next = await open();
    await next.view.whenReady();
    await eventually('it is stored again', async () => (await stored()) !== undefined);
    expect(await storage.store.load(name)).toBeUndefined();
    expect(await other.store.load(name)).toBeUndefined();
    expect(errors).toEqual([]);
  });

  it('at_sign_out_nothing_is_left_and_nothing_comes_after', async () => {
    const { view, storage } = await open();
    await view.whenReady();
    await eventually('it is stored', async () => (await stored()) !== undefined);
    server.ledger.write(server.random, '1');
    await storage.clear();
    server.ledger.write(server.random, '1');
    await eventually('it went on', () => view.sequence === head());
    expect(await stored()).toBeUndefined();
  });

  it('at_sign_out_another_page_that_is_open_stores_nothing_any_more_and_the_next_one_does', async () => {
    const [first, second] = [await open(), await open()];
    for (const { view } of [first, second]) await view.whenReady();
    await eventually('it is stored', async () => (await stored()) !== undefined);
    first.client.close();
    await first.storage.clear();
    for (let i = 0; i < 3; ++i) {
      server.ledger.write(server.random, '1');
      await eventually('the other page went on', () => second.view.sequence === head());
    }
    await second.storage.mutations.save('1', 1, ['{"number":"1"}']);
    await second.storage.close();
    expect(await stored()).toBeUndefined();
    expect(await kept()).toEqual([]);
    const third = await open();
    await third.view.whenReady();
    await eventually('it is stored again', async () => (await stored()) !== undefined);
    await third.storage.mutations.save('1', 1, ['{"number":"1"}']);
    expect(await kept()).toEqual([{ last: 1, texts: ['{"number":"1"}'] }]);
    expect(errors).toEqual([]);
  });

  it('a_mutation_after_sign_out_is_not_stored', async () => {
    const { client, storage } = await open('alice', { url: 'ws://127.0.0.1:9/' });
    const write = writer(client, { store: storage.mutations });
    void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [1] }]);
    await eventually('it is stored', async () => (await kept()).length === 1);
    client.close();
    await storage.clear();
    expect(await kept()).toEqual([]);
    void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [2] }]);
    await storage.mutations.save('1', 2, ['{"number":"2"}']);
    expect(await kept()).toEqual([]);
  });

  it('stored_mutations_are_not_sent_on_a_connection_of_somebody_else_though_no_sets_are_stored', async () => {
    const uninstall = new FakeLocks().install();
    const before = await indexedDbStorage({ principal: 'alice' });
    const text = '{"type":"mutate","space":"1","number":"1","mutations":[{"kind":"delete","collection":"accounts","key":[1]}]}';
    await before.mutations.save('1', 1, [text]);
    await before.close();
    server.principal = 'bob';
    const { mutations } = await indexedDbStorage({ principal: 'alice' });
    const client = connect({ url, token: () => 'token', WebSocket: WebSocket as unknown as SocketConstructor });
    clients.push(client);
    const write = writer(client, { store: mutations });
    const reasons: string[] = [];
    write.onRejected(({ reason }) => reasons.push(reason));
    expect(write.unanswered).toBe(1);
    // Nor what is asked for in the first moment of the connection.
    client.onState(({ status }) => status === 'online' && void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [2] }]));
    await eventually('it is given up', () => reasons.length === 2);
    expect([write.unanswered, reasons]).toEqual([0, ['signed_out', 'signed_out']]);
    server.say('{"type":"ping"}');
    await eventually('it was answered', () => server.received.some(({ type }) => type === 'pong'));
    expect(server.received.filter(({ type }) => type === 'mutate')).toEqual([]);
    uninstall();
  });

  it('who_only_closes_the_client_leaves_what_was_done_to_the_next_storage', async () => {
    const uninstall = new FakeLocks().install();
    const first = await open('alice', { url: 'ws://127.0.0.1:9/' });
    const write = writer(first.client, { store: first.storage.mutations });
    void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [1] }]);
    // What is being written at that moment is not lost either.
    first.client.close();
    const again = await open('alice', { url: 'ws://127.0.0.1:9/' });
    const next = writer(again.client, { store: again.storage.mutations });
    expect([next.client, next.unanswered]).toEqual([write.client, 1]);
    void next.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [2] }]);
    await eventually('it is stored, too', async () => JSON.stringify(await kept()).includes('[2]'));
    // The first one is started again: it is told that another one goes on, and stores and sends nothing.
    first.client.retry();
    void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [3] }]);
    await eventually('it is told', () => errors.some((error) => String(error).includes('somebody else goes on')));
    expect(JSON.stringify(await kept())).not.toContain('[3]');
    uninstall();
  });

  it('a_client_that_is_started_again_goes_on_with_what_it_did_though_others_looked_at_it_meanwhile', async () => {
    const uninstall = new FakeLocks().install();
    const { client, storage } = await open('alice', { url: 'ws://127.0.0.1:9/' });
    const write = writer(client, { store: storage.mutations });
    void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [1] }]);
    await eventually('it is stored', async () => (await kept()).length === 1);
    for (let i = 0; i < 3; ++i) {
      client.close();
      const other = await open('alice', { url: 'ws://127.0.0.1:9/' });
      expect(other.storage.mutations.client).toBe(write.client);
      void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [10 + i] }]);
      expect(JSON.stringify(await kept())).not.toContain(`[${10 + i}]`);
      await other.storage.close();
      client.retry();
      await eventually('what was done while it was closed is stored', async () => JSON.stringify(await kept()).includes(`[${10 + i}]`));
    }
    expect(errors).toEqual([]);
    uninstall();
  });

  it('who_signs_in_twice_in_one_page_finds_what_was_done_offline', async () => {
    const uninstall = new FakeLocks().install();
    const first = await open('alice', { url: 'ws://127.0.0.1:9/' });
    const write = writer(first.client, { store: first.storage.mutations });
    void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [1] }]);
    await eventually('it is stored', async () => (await kept()).length === 1);
    first.client.close();
    await first.storage.close();
    const between = await open('bob');
    between.client.close();
    await between.storage.close();
    const again = await open('alice', { url: 'ws://127.0.0.1:9/' });
    const next = writer(again.client, { store: again.storage.mutations });
    expect([next.client, next.unanswered]).toEqual([write.client, 1]);
    // What the first one still asks for is not written over what the second one has.
    void write.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [2] }]);
    void next.mutate('1', [{ kind: 'delete', collection: 'accounts', key: [3] }]);
    await eventually('it is stored, too', async () => JSON.stringify(await kept()).includes('[3]'));
    expect(JSON.stringify(await kept())).not.toContain('[2]');
    uninstall();
  });

  it('without_a_database_everything_works_and_nothing_is_stored', async () => {
    const refused = { open: () => { throw new DOMException('private mode', 'SecurityError'); } };
    Object.assign(globalThis, { indexedDB: refused });
    const { view, client, storage } = await open();
    const write = writer(client, { store: storage.mutations });
    await view.whenReady();
    expect((await write.mutate('1', [{ kind: 'put', collection: 'accounts', key: [1], record: { a: 3, b: 'x' } }])).outcome).toBe('applied');
    await eventually('it is shown', () => view.get([1])?.a === 3);
    expect(errors.length).toBeGreaterThan(0);
  });

  it('beyond_the_quota_the_view_goes_on_and_what_is_stored_is_still_a_whole_set', async () => {
    const { view } = await open();
    await view.whenReady();
    await eventually('it is stored', async () => (await stored()) !== undefined);
    const put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function (this: IDBObjectStore): never {
      this.transaction.abort();
      throw new DOMException('full', 'QuotaExceededError');
    };
    try {
      for (let i = 0; i < 10; ++i) server.ledger.write(server.random, '1');
      await eventually('it went on', () => view.sequence === head());
      await eventually('it was told', () => errors.length > 0);
    } finally {
      IDBObjectStore.prototype.put = put;
    }
    const found = await stored();
    expect(found?.texts).toEqual(queryAt(found?.sequence ?? ''));
  });

  it('beyond_the_quota_what_may_not_be_seen_any_more_goes_all_the_same', async () => {
    const line = new Line();
    const { view } = await open('alice', { WebSocket: line.socketClass() });
    await line.opened;
    line.greet();
    const asked = (): string => String(line.received.filter(({ type }) => type === 'subscribe').at(-1)?.['id']);
    await eventually('it is asked for', () => asked() === 's1');
    const set = (channel: string, sequence: number): object[] => [
      { type: 'subscribed', id: asked(), channel, context: channel },
      { type: 'snapshot', channel, records: [{ key: [1], record: { id: 1, a: sequence, b: 'secret' } }] },
      { type: 'ready', channel, sequence: `${sequence}`, position: `p${sequence}`, head: `${sequence}` },
    ];
    line.say(...set('c', 5));
    await eventually('it is stored', async () => (await stored())?.sequence === '5');
    const put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function (this: IDBObjectStore): never {
      this.transaction.abort();
      throw new DOMException('full', 'QuotaExceededError');
    };
    try {
      // After two failures the set is left alone, as it is.
      for (const [i, sequence] of [6, 7, 8].entries()) {
        const events = [{ kind: 'updated', key: [1], changed: { a: sequence } }];
        line.say({ type: 'commit', channel: 'c', sequence: `${sequence}`, position: `p${sequence}`, events });
        if (i < 2) await eventually('it is told', () => errors.length === i + 1);
      }
      expect((await stored())?.sequence).toBe('5');
      line.say({ type: 'reset_required', id: 's1', reason: 'authorization_changed' });
      await eventually('it is gone', async () => (await stored()) === undefined);
      expect(view.size).toBe(0);
      // The same in one message: what comes after it has no room, and what was there goes nevertheless.
      IDBObjectStore.prototype.put = put;
      line.say(...set('d', 9));
      await eventually('it is stored again', async () => (await stored())?.sequence === '9');
      IDBObjectStore.prototype.put = function (this: IDBObjectStore): never {
        this.transaction.abort();
        throw new DOMException('full', 'QuotaExceededError');
      };
      line.say({ type: 'reset_required', id: 's1', reason: 'authorization_changed' }, ...set('e', 10));
      await eventually('it is gone, too', async () => (await stored()) === undefined);
      expect(view.size).toBe(1);
    } finally {
      IDBObjectStore.prototype.put = put;
    }
  });

  it('a_newer_form_of_the_storage_is_left_alone_and_an_older_one_gives_way', async () => {
    const request = indexedDB.open('viewgate alice', 99);
    await new Promise((resolve) => (request.onsuccess = resolve));
    request.result.close();
    const { view } = await open();
    await view.whenReady();
    expect(errors.length).toBe(1);
    const again = indexedDB.open('viewgate alice');
    await new Promise((resolve) => (again.onsuccess = resolve));
    expect(again.result.version).toBe(99);
    again.result.close();
  });

  it('unanswered_mutations_are_taken_over_by_the_next_page_and_by_one_only', async () => {
    const locks = new FakeLocks();
    const uninstall = locks.install();
    const first = await indexedDbStorage({ principal: 'alice' });
    await first.mutations.save('1', 7, ['{"number":"7"}']);
    const second = await indexedDbStorage({ principal: 'alice' });
    expect(second.mutations.client).not.toBe(first.mutations.client);
    expect(second.mutations.stored).toEqual([]);
    locks.endPage();
    const third = await indexedDbStorage({ principal: 'alice' });
    expect(third.mutations.client).toBe(first.mutations.client);
    expect(third.mutations.stored).toEqual([{ space: '1', last: 7, texts: ['{"number":"7"}'] }]);
    uninstall();
  });

  it('of_several_pages_that_left_mutations_each_next_one_goes_on_for_one_and_first_for_that_which_left_most', async () => {
    const locks = new FakeLocks();
    const uninstall = locks.install();
    const first = await indexedDbStorage({ principal: 'alice' });
    const second = await indexedDbStorage({ principal: 'alice' });
    await first.mutations.save('1', 1, ['{"number":"1"}']);
    await second.mutations.save('1', 2, ['{"number":"1"}', '{"number":"2"}']);
    locks.endPage();
    const next = [await indexedDbStorage({ principal: 'alice' }), await indexedDbStorage({ principal: 'alice' })];
    expect(next.map(({ mutations }) => mutations.client)).toEqual([second.mutations.client, first.mutations.client]);
    expect(next.map(({ mutations }) => mutations.stored[0]?.texts.length)).toEqual([2, 1]);
    uninstall();
  });

  it('a_page_that_is_loaded_again_has_its_mutations_though_the_page_before_lets_go_only_then', async () => {
    const locks = new FakeLocks();
    const uninstall = locks.install();
    const before = await indexedDbStorage({ principal: 'alice' });
    await before.mutations.save('1', 7, ['{"number":"7"}']);
    const loading = indexedDbStorage({ principal: 'alice' });
    await eventually('it asks for what the page before still has', () => locks.waiters > 0);
    locks.endPage();
    expect((await loading).mutations.client).toBe(before.mutations.client);
    expect((await loading).mutations.stored.length).toBe(1);
    uninstall();
  });
});
