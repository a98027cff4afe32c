// Goal: the client as an application has it: views that fill, follow, survive breaks and the application's own mistakes.
// Method: real sockets to a gateway in memory.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  connect,
  optimistic,
  ordered,
  parseLossless,
  writer,
  type Change,
  type Client,
  type ClientError,
  type ClientOptions,
  type Ordered,
  type SocketConstructor,
  type View,
} from '@viewgate/client';
import { FakeServer, eventually } from '../support/fake_server.js';
import { Line } from '../support/line.js';
import { query, timeOf, type Account } from '../support/model_gateway.js';

let server: FakeServer;
let url: string;
let tokens = 0;
const clients: Client[] = [];

function open(options: Partial<ClientOptions> = {}): Client {
  const token = (): Promise<string> => Promise.resolve(`token ${++tokens}`);
  // Quick delays: the machine's own are tested with a clock in hand.
  const timers = {
    set: (callback: () => void, milliseconds: number) => setTimeout(callback, milliseconds / 20),
    clear: (handle: unknown) => clearTimeout(handle as ReturnType<typeof setTimeout>),
    now: () => Date.now() * 20,
    random: () => 0.5,
  };
  const client = connect({ url, token, timers, WebSocket: WebSocket as unknown as SocketConstructor, ...options });
  clients.push(client);
  return client;
}

function texts(view: Iterable<[string, unknown]> & { text(key: string): string | undefined }): Map<string, string> {
  return new Map([...view].map(([key]) => [key, view.text(key) ?? '']));
}

function now(space: string): ReadonlyMap<number, Account> {
  const states = server.ledger.states(space);
  return states[states.length - 1] ?? new Map();
}

beforeEach(async () => {
  server = new FakeServer(7);
  for (let i = 0; i < 20; ++i) server.ledger.write(server.random, '1');
  url = await server.listen();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
});

describe('a client', () => {
  it('a_view_fills_and_follows_every_commit', async () => {
    const client = open();
    const view = client.subscribe<Account>('overdrawn', { space: '1' });
    expect(view.status).toBe('connecting');
    await view.whenReady();
    const folded = texts(view);
    view.subscribe((change: Change<Account>) => {
      expect(change.at).toBe(timeOf(change.sequence));
      for (const item of [...change.left, ...change.deleted]) expect(folded.delete(item.key)).toBe(true);
      for (const item of change.entered) folded.set(item.key, item.text);
      for (const { before, after } of change.updated) {
        expect(folded.get(before.key)).toBe(before.text);
        folded.set(after.key, after.text);
      }
      expect(folded).toEqual(texts(view));
    });
    for (let i = 0; i < 60; ++i) server.ledger.write(server.random, '1');
    await eventually('the view is at the head', () => Number(view.head) === 80 && folded.size === view.size && view.status === 'live');
    await eventually('the fold is the query', () => equal(folded, query(now('1'), 'overdrawn', {})));
    expect(client.status).toBe('online');
    expect(client.principal).toBe('alice');
  });

  it('records_are_found_by_key_text_or_key_values', async () => {
    const view = open().subscribe<Account>('above', { space: '1', params: { low: -10 } });
    await view.whenReady();
    const [key, record] = [...view][0] ?? ['', undefined];
    expect(view.get([record?.id])).toEqual(record);
    expect(view.get(` ${key} `)).toBe(view.get(key));
    expect(view.has([999])).toBe(false);
    expect(view.get([999])).toBeUndefined();
    expect([...view.keys()].length).toBe(view.size);
    expect([...view.values()].length).toBe(view.size);
  });

  it('it_comes_back_by_itself_with_its_cursor_and_a_fresh_token', async () => {
    const client = open();
    const view = client.subscribe('overdrawn', { space: '1' });
    await view.whenReady();
    const first = server.received.length;
    for (let i = 0; i < 5; ++i) {
      server.ledger.write(server.random, '1');
      const before = server.connections;
      server.cut();
      await eventually('it has noticed', () => client.status !== 'online' || server.connections > before);
      for (let commits = 0; commits < 10; ++commits) server.ledger.write(server.random, '1');
      await eventually('it is back', () => view.status === 'live' && server.connections > before);
    }
    await eventually('the view is the query', () => equal(texts(view), query(now('1'), 'overdrawn', {})));
    // A machine that stands still for a second makes an attempt more.
    const subscribes = server.received.slice(first).filter((message) => message['type'] === 'subscribe');
    expect(subscribes.length).toBeGreaterThanOrEqual(5);
    expect(subscribes.every((message) => typeof message['cursor'] === 'string')).toBe(true);
    const hellos = server.received.filter((message) => message['type'] === 'hello').map((message) => message['token']);
    expect(hellos.length).toBeGreaterThanOrEqual(6);
    expect(new Set(hellos).size).toBe(hellos.length);
  });

  it('what_a_listener_throws_reaches_nobody_else', async () => {
    const thrown: unknown[] = [];
    const catcher = (error: unknown): void => void thrown.push(error);
    process.on('uncaughtException', catcher);
    try {
      const view = open().subscribe('overdrawn', { space: '1' });
      let told = 0;
      view.subscribe(() => {
        throw new Error('of the application');
      });
      view.subscribe(() => ++told);
      await view.whenReady();
      for (let i = 0; i < 20; ++i) server.ledger.write(server.random, '1');
      await eventually('the view is the query', () => equal(texts(view), query(now('1'), 'overdrawn', {})));
      await eventually('all were thrown', () => told > 1 && thrown.length === told);
    } finally {
      process.off('uncaughtException', catcher);
    }
  });

  it('views_can_be_opened_and_closed_inside_a_listener', async () => {
    const client = open();
    const first = client.subscribe('overdrawn', { space: '1' });
    let second: ReturnType<typeof client.subscribe> | undefined;
    first.subscribe(() => {
      if (second !== undefined) return;
      second = client.subscribe('above', { space: '1', params: { low: 0 } });
      first.close();
    });
    await eventually('the second is live', () => second?.status === 'live');
    expect(first.status).toBe('closed');
    server.ledger.write(server.random, '1');
    await eventually('the second follows', () => equal(texts(second as never), query(now('1'), 'above', { low: 0 })));
  });

  it('case_25_a_subscription_that_is_more_than_the_server_takes_fails_by_name_and_the_others_go_on', async () => {
    const client = open();
    const closes: (number | undefined)[] = [];
    client.onState(({ lastClose }) => closes.push(lastClose));
    const view = client.subscribe('overdrawn', { space: '1' });
    const large = client.subscribe('above', { space: '1', params: { low: 'é'.repeat(33_000) } });
    await expect(large.whenReady()).rejects.toThrow('65536 bytes');
    expect([large.status, large.error?.code]).toEqual(['failed', 'too_large']);
    await view.whenReady();
    server.ledger.write(server.random, '1');
    await eventually('the other one follows', () => view.status === 'live' && equal(texts(view), query(now('1'), 'overdrawn', {})));
    expect(closes).not.toContain(1009);
    large.close();
    expect(server.received.filter(({ type }) => type === 'unsubscribe')).toEqual([]);
  });

  it('a_view_that_shares_a_set_hears_that_first_and_nothing_where_it_is_closed_before', async () => {
    const line = new Line();
    const client = open({ WebSocket: line.socketClass() });
    const heard: string[][] = [[], [], []];
    const subscribe = (at: number): View => {
      const view = client.subscribe('overdrawn', { space: '1' });
      view.subscribe(({ kind, sequence, entered }) => heard[at]?.push(`${kind} ${sequence}: ${entered.length}`));
      return view;
    };
    await line.opened;
    const first = subscribe(0);
    first.subscribe(({ sequence }) => {
      if (sequence !== '6') return;
      subscribe(1);
      subscribe(2).close();
    });
    const commit = (sequence: number): object => {
      const events = [{ kind: 'entered', key: [sequence], record: { id: sequence } }];
      return { type: 'commit', channel: 'c', sequence: `${sequence}`, position: `p${sequence}`, events };
    };
    line.greet();
    line.say(
      { type: 'subscribed', id: 's1', channel: 'c', context: 'x' },
      { type: 'snapshot', channel: 'c', records: [{ key: [5], record: { id: 5 } }] },
      { type: 'ready', channel: 'c', sequence: '5', position: 'p5', head: '5' },
    );
    await Promise.resolve();
    line.say(commit(6), commit(7));
    await Promise.resolve();
    line.say(commit(8));
    expect(heard).toEqual([
      ['replaced 5: 1', 'commit 6: 1', 'commit 7: 1', 'commit 8: 1'],
      ['replaced 7: 3', 'commit 8: 1'],
      [],
    ]);
  });

  const ends: readonly (readonly [what: string, ...documents: object[]])[] = [
    ['the_view_is_refused', { type: 'unsubscribed', id: 's1', reason: 'forbidden' }],
    ['its_rows_are_others', { type: 'reset_required', id: 's1', reason: 'authorization_changed' }],
    ['its_last_records_are_deleted', {
      type: 'commit',
      channel: 'c',
      sequence: '7',
      position: 'p7',
      events: [{ kind: 'deleted', key: [5] }, { kind: 'deleted', key: [6] }],
    }],
  ];
  for (const [what, ...documents] of ends) {
    it(`a_list_that_a_listener_made_of_a_shared_set_is_empty_where_the_same_message_says_that_${what}`, async () => {
      const line = new Line();
      const client = open({ WebSocket: line.socketClass() });
      const write = writer(client);
      const first = client.subscribe<{ id: number }>('overdrawn', { space: '1' });
      await line.opened;
      const lists: Ordered<{ id: number }>[] = [];
      const before: number[] = [];
      const told: number[] = [0, 0];
      first.subscribe(({ sequence }) => {
        if (sequence !== '6' || lists.length > 0) return;
        const view = client.subscribe<{ id: number }>('overdrawn', { space: '1' });
        lists.push(ordered(view), ordered(optimistic(write, view, { collection: 'overdrawn', key: ['id'] })));
        before.push(...lists.map(({ size }) => size));
        lists.forEach((list, at) => list.subscribe(({ left }) => (told[at] += left.length)));
      });
      line.greet();
      line.say(
        { type: 'subscribed', id: 's1', channel: 'c', context: 'x' },
        { type: 'snapshot', channel: 'c', records: [{ key: [5], record: { id: 5 } }] },
        { type: 'ready', channel: 'c', sequence: '5', position: 'p5', head: '5' },
      );
      await Promise.resolve();
      const events = [{ kind: 'entered', key: [6], record: { id: 6 } }];
      line.say({ type: 'commit', channel: 'c', sequence: '6', position: 'p6', events }, { type: 'at', space: '1', sequence: '6' }, ...documents);
      await Promise.resolve();
      expect([first.size, before, lists.map(({ list }) => list.length), told]).toEqual([0, [2, 2], [0, 0], [2, 2]]);
    });
  }

  it('equal_subscriptions_share_one_set', async () => {
    const client = open();
    const views = [1, 2, 3].map(() => client.subscribe('overdrawn', { space: '1' }));
    await Promise.all(views.map((view) => view.whenReady()));
    views[0]?.close();
    for (let i = 0; i < 10; ++i) server.ledger.write(server.random, '1');
    for (const view of views.slice(1)) {
      await eventually('it is the query', () => equal(texts(view), query(now('1'), 'overdrawn', {})));
    }
  });

  it('case_31_lossless_numbers_by_option', async () => {
    for (const lossless of [false, true]) {
      const view = open(lossless ? { parse: parseLossless } : {}).subscribe<{ n: unknown }>('overdrawn', { space: 'empty' });
      await view.whenReady();
      const commit = '"sequence":"1","position":"p1_1","events":[{"kind":"entered","key":[1],"record":{"n": 9007199254740993}}]';
      server.say(`{"type":"commit","channel":"empty/overdrawn/{}#1",${commit}}`);
      await eventually('it has come', () => view.size === 1);
      expect(view.get([1])?.n).toBe(lossless ? 9007199254740993n : 9007199254740992);
      expect(view.text([1])).toBe('{"n": 9007199254740993}');
      clients.pop()?.close();
    }
  });

  it('a_page_that_is_looked_at_again_and_a_network_that_is_back_end_the_wait', async () => {
    const woken = new Map<string, () => void>();
    const page = { visibilityState: 'hidden' };
    const globals = {
      document: page,
      addEventListener: (name: string, wake: () => void, { signal }: { signal: AbortSignal }) => {
        woken.set(name, wake);
        signal.addEventListener('abort', () => woken.delete(name));
      },
    };
    for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, configurable: true });
    try {
      // No timer ever rings by itself, as in a page that is frozen.
      let rings: (() => void)[] = [];
      const timers = { set: (ring: () => void) => rings.push(ring), clear: () => undefined, now: () => Date.now(), random: () => 0 };
      const client = open({ timers });
      await eventually('it is online', () => client.status === 'online');
      for (const name of ['visibilitychange', 'online']) {
        page.visibilityState = 'hidden';
        server.cut();
        await eventually('it is offline', () => client.status === 'offline');
        // Of the first break the wait is short as it is; only what a wake-up sets rings here.
        rings = [];
        woken.get(name)?.();
        expect(rings.length).toBe(0);
        page.visibilityState = 'visible';
        woken.get(name)?.();
        expect(rings.length).toBe(1);
        rings[0]?.();
        await eventually('it is online again', () => client.status === 'online');
      }
      client.close();
      expect(woken.size).toBe(0);
    } finally {
      for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name);
    }
  });

  it('a_socket_that_cannot_be_made_is_told_as_what_it_is', async () => {
    const client = connect({ url: 'not an address', token: () => 'token', WebSocket: WebSocket as unknown as SocketConstructor });
    const told: string[] = [];
    client.onError(({ code, message }) => told.push(`${code}: ${message}`));
    await eventually('it is told', () => told.length > 0);
    expect(told[0]).toMatch(/^connection_lost: SyntaxError: .*URL/);
    expect(client.status).toBe('offline');
    client.close();
  });

  it('a_token_provider_that_fails_is_asked_again', async () => {
    const errors: ClientError[] = [];
    let calls = 0;
    const client = open({ token: () => (++calls < 3 ? Promise.reject(new Error('no network')) : Promise.resolve('token')) });
    client.onError((error) => errors.push(error));
    await client.subscribe('overdrawn', { space: '1' }).whenReady();
    expect(calls).toBe(3);
    expect(errors.map((error) => error.code)).toEqual(['token', 'token']);
  });

  it('when_ready_rejects_where_it_never_will_be', async () => {
    const client = open();
    const view = client.subscribe('overdrawn', { space: '1' });
    const ready = view.whenReady();
    client.close();
    await expect(ready).rejects.toMatchObject({ message: expect.stringContaining('closed') as string, code: 'closed' });
    expect(client.status).toBe('closed');
    client.retry();
    await view.whenReady();
    // Ready may be a commit behind the head; what is missing follows.
    await eventually('it is live', () => view.status === 'live');
    const large = client.subscribe('above', { space: '1', params: { low: 'x'.repeat(70_000) } }).whenReady();
    await expect(large).rejects.toMatchObject({ message: 'more than 65536 bytes', code: 'too_large' });
  });
});

function equal(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, text]) => b.get(key) === text);
}
