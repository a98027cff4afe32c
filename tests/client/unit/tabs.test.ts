// Goal: tabs of one principal share one connection, each sees what it would see alone, and when the one that has the connection goes,
// another goes on without reading anything anew. Method: clients of one process that talk over a BroadcastChannel, locks in memory.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { connectShared, writer, type Client, type SocketConstructor, type Timers, type View } from '@viewgate/client';
import { FakeLocks } from '../support/fake_locks.js';
import { FakeServer, eventually } from '../support/fake_server.js';
import { query, timeOf, type Account } from '../support/model_gateway.js';
import { Random, seeds } from '../support/random.js';

let server: FakeServer;
let url: string;
let uninstall: () => void;
const clients: Client[] = [];

const quick: Timers = {
  set: (callback, milliseconds) => setTimeout(callback, milliseconds / 20),
  clear: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
  now: () => Date.now() * 20,
  random: () => 0.5,
};

function open(principal = 'alice', timers = quick): Client {
  const client = connectShared({ url, principal, token: () => 'token', timers, WebSocket: WebSocket as unknown as SocketConstructor });
  clients.push(client);
  return client;
}

function watch(client: Client, low = -5): View<Account> {
  return client.subscribe<Account>('above', { space: '1', params: { low } });
}

function isQuery(view: View<Account>, low = -5): boolean {
  const states = server.ledger.states('1');
  const expected = [...query(states[states.length - 1] ?? new Map<number, Account>(), 'above', { low }).values()].sort();
  return JSON.stringify([...view.items()].map((item) => item.text).sort()) === JSON.stringify(expected);
}

beforeEach(async () => {
  uninstall = new FakeLocks().install();
  server = new FakeServer(3);
  for (let i = 0; i < 20; ++i) server.ledger.write(server.random, '1');
  url = await server.listen();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
  uninstall();
});

describe('tabs', () => {
  it('three_tabs_have_one_connection_and_each_view_follows', async () => {
    const tabs = [open(), open(), open()];
    const views = [watch(tabs[0] as Client), watch(tabs[1] as Client), watch(tabs[2] as Client, 0)];
    await Promise.all(views.map((view) => view.whenReady()));
    const times: (readonly [string, string | undefined])[] = [];
    for (const view of views) view.subscribe(({ kind, sequence, at }) => kind === 'commit' && times.push([sequence, at]));
    for (let i = 0; i < 30; ++i) server.ledger.write(server.random, '1');
    await eventually('all are at the head', () => isQuery(views[0]!) && isQuery(views[1]!) && isQuery(views[2]!, 0));
    expect(times.length).toBeGreaterThan(0);
    for (const [sequence, at] of times) expect(at).toBe(timeOf(sequence));
    await eventually('they have one connection', () => server.open === 1 && tabs.every(({ status }) => status === 'online'));
    expect(tabs.map((tab) => tab.principal)).toEqual(['alice', 'alice', 'alice']);
    // Equal views of different tabs are one subscription. A machine that stands still for a while makes a silence, and so connections
    // more: each asks once more.
    const subscribes = server.received.filter((message) => message['type'] === 'subscribe').length;
    expect(subscribes).toBeGreaterThanOrEqual(2);
    expect(subscribes).toBeLessThanOrEqual(2 * server.connections);
  });

  it('when_the_tab_with_the_connection_goes_another_one_goes_on_from_its_cursor', async () => {
    const tabs = [open(), open(), open()];
    const views = tabs.map((tab) => watch(tab));
    await Promise.all(views.map((view) => view.whenReady()));
    const replaced: string[] = [];
    for (const view of views.slice(1)) {
      await eventually('it is live', () => view.status === 'live');
      view.subscribe((change) => change.kind === 'replaced' && change.entered.length > 0 && replaced.push(view.sequence));
    }
    const [before, connections] = [server.received.length, server.connections];
    tabs[0]?.close();
    for (let i = 0; i < 10; ++i) server.ledger.write(server.random, '1');
    await eventually('the others went on', () => server.connections > connections && views.slice(1).every((view) => isQuery(view) && view.status === 'live'));
    const subscribes = server.received.slice(before).filter((message) => message['type'] === 'subscribe');
    expect(subscribes.length).toBeGreaterThanOrEqual(1);
    expect(subscribes.length).toBeLessThanOrEqual(server.connections - connections);
    for (const { cursor } of subscribes) expect(typeof cursor).toBe('string');
  });

  it('a_tab_that_follows_is_offline_when_the_connection_is_and_comes_back_with_it', async () => {
    const tabs = [open(), open()];
    const view = watch(tabs[1] as Client);
    await view.whenReady();
    const seen = new Set<string>();
    tabs[1]?.onState((tab) => seen.add(tab.status));
    server.cut();
    await eventually('it was offline', () => seen.has('offline'));
    server.ledger.write(server.random, '1');
    await eventually('it is back', () => view.status === 'live' && isQuery(view));
  });

  it('a_tab_that_does_not_run_is_led_by_another_one_and_follows_it_when_it_wakes', async () => {
    // What a sleeping tab is told waits for it.
    const channels: BroadcastChannel[] = [];
    const Channel = globalThis.BroadcastChannel;
    vi.stubGlobal('BroadcastChannel', class extends Channel {
      constructor(name: string) {
        super(name);
        channels.push(this);
      }
    });
    const tabs = [open()];
    const view = watch(tabs[0] as Client);
    await view.whenReady();
    const [channel] = channels as [BroadcastChannel];
    const hear = channel.onmessage as (event: unknown) => void;
    const missed: unknown[] = [];
    channel.onmessage = (event) => missed.push(event);
    tabs.push(open(), open());
    const views = tabs.slice(1).map((tab) => watch(tab));
    await eventually('the others have a connection', () => views.every((each) => each.status === 'live'));
    await eventually('the first one has stepped down', () => server.connections >= 2 && tabs[0]?.status === 'offline');
    channel.onmessage = hear;
    for (const event of missed) hear.call(channel, event);
    await eventually('it follows', () => view.status === 'live');
    server.ledger.write(server.random, '1');
    await eventually('all are at the head', () => [view, ...views].every((each) => each.status === 'live' && isQuery(each)));
    await eventually('they have one connection', () => server.open === 1);
    vi.unstubAllGlobals();
  });

  it('a_tab_that_is_told_of_its_sleep_lets_the_lead_go_before_and_follows_or_leads_again_when_it_wakes', async () => {
    const pages = [new EventTarget(), new EventTarget()];
    const tabs = pages.map((page) => {
      vi.stubGlobal('document', page);
      return open();
    });
    vi.unstubAllGlobals();
    const sleep = (page: number): boolean | undefined => pages[page]?.dispatchEvent(new Event('freeze'));
    const wake = (page: number): boolean | undefined => pages[page]?.dispatchEvent(new Event('resume'));
    const views = tabs.map((tab) => watch(tab));
    await Promise.all(views.map((view) => view.whenReady()));
    // A machine that stands still for a while makes a silence, and so connections more.
    const more = async (what: string, isSo: () => boolean): Promise<void> => {
      const before = server.connections;
      server.ledger.write(server.random, '1');
      await eventually(what, () => server.connections > before && isSo());
    };
    const areAll = (): boolean => views.every((view) => view.status === 'live' && isQuery(view));
    sleep(0);
    expect(tabs[0]?.status).toBe('offline');
    await more('the other one leads', areAll);
    // It sleeps while nobody else runs: nobody leads, until one wakes.
    wake(0);
    sleep(0);
    sleep(1);
    expect(tabs[1]?.status).toBe('offline');
    wake(0);
    await more('who woke first leads', areAll);
    wake(1);
    tabs[0]?.close();
    await more('the other one has waited for its turn', () => views[1]?.status === 'live' && isQuery(views[1]));
  });

  it('tabs_whose_gateway_is_away_wait_for_the_one_that_leads', async () => {
    server.cut();
    await server.close();
    const tabs = [open(), open()];
    const views = tabs.map((tab) => watch(tab));
    const errors: string[] = [];
    tabs[1]?.onError((error) => errors.push(error.code));
    const told: unknown[] = [];
    const channel = new BroadcastChannel(`viewgate ${url} alice`);
    channel.onmessage = ({ data }: MessageEvent) => told.push(data);
    const greetings = (): number => told.filter((each) => JSON.stringify(each).includes('hello')).length;
    await eventually('the second one has asked more than once', () => greetings() > 1);
    channel.close();
    // It has lost its patience, and knows that somebody leads: it takes nothing from it.
    expect(new Set(errors)).toEqual(new Set(['connection_lost']));
    expect(told.filter((each) => (each as { to: string }).to === 'all')).toEqual([]);
    server = new FakeServer(3);
    await server.listen(Number(new URL(url).port));
    await eventually('both are live over one connection', () => server.open === 1 && views.every((view) => view.status === 'live'));
  });

  it('where_a_browser_has_no_locks_each_tab_connects_by_itself', async () => {
    uninstall();
    const views = [watch(open()), watch(open())];
    await Promise.all(views.map((view) => view.whenReady()));
    server.ledger.write(server.random, '1');
    await eventually('both follow, each over its own', () => server.open === 2 && views.every((view) => isQuery(view)));
  });

  it('where_locks_or_channels_are_refused_each_tab_connects_by_itself', async () => {
    const refusal = (): never => {
      throw new DOMException('an origin of its own', 'SecurityError');
    };
    const refusals = [
      () => vi.stubGlobal('navigator', { locks: { request: async () => refusal() } }),
      () => vi.stubGlobal('BroadcastChannel', class { constructor() { refusal(); } }),
    ];
    for (const refuse of refusals) {
      refuse();
      const before = server.connections;
      const tabs = [open(), open()];
      const views = tabs.map((tab) => watch(tab));
      await Promise.all(views.map((view) => view.whenReady()));
      server.ledger.write(server.random, '1');
      await eventually('both follow', () => views.every((view) => isQuery(view)));
      expect(server.connections).toBeGreaterThanOrEqual(before + 2);
      const after = server.connections;
      tabs[0]?.close();
      tabs[0]?.retry();
      await eventually('one that is started again has a line again', () => views[0]?.status === 'live' && server.connections > after);
      for (const tab of tabs) tab.close();
      vi.unstubAllGlobals();
    }
  });

  it('tabs_whose_locks_were_refused_share_when_they_are_started_again_and_have_them', async () => {
    const real = new FakeLocks();
    let isRefused = true;
    const request = async (...args: Parameters<typeof real.request>): Promise<unknown> => {
      if (isRefused) throw new DOMException('not now', 'InvalidStateError');
      return real.request(...args);
    };
    vi.stubGlobal('navigator', { locks: { request } });
    const tabs = [open(), open()];
    vi.unstubAllGlobals();
    const views = tabs.map((tab) => watch(tab));
    await eventually('each has its own connection', () => server.open === 2 && views.every(({ status }) => status === 'live'));
    for (const tab of tabs) tab.close();
    await eventually('they are gone', () => server.open === 0);
    isRefused = false;
    for (const tab of tabs) tab.retry();
    await eventually('they have one connection', () => server.open === 1 && views.every(({ status }) => status === 'live'));
  });

  it('a_tab_whose_timers_hardly_ring_lets_the_others_hear_of_it_all_the_same', async () => {
    // Those of a page that is hidden for minutes: of the pings it has only what it hears itself.
    const hidden: Timers = { ...quick, set: (ring, milliseconds) => (milliseconds === 10_000 ? undefined : quick.set(ring, milliseconds)) };
    const leader = open('alice', hidden);
    await watch(leader).whenReady();
    await watch(open()).whenReady();
    let pings = 0;
    const channel = new BroadcastChannel(`viewgate ${url} alice`);
    channel.onmessage = ({ data }: MessageEvent<{ text?: string }>) => data.text?.includes('"ping"') === true && pings++;
    await eventually('it was pinged more than once', () => pings > 2);
    channel.close();
  });

  it('tabs_of_different_principals_share_nothing', async () => {
    const views = [watch(open()), watch(open('bob'))];
    await Promise.all(views.map((view) => view.whenReady()));
    await eventually('each has its own connection', () => server.open === 2);
  });

  it('a_tab_that_writes_has_a_line_of_its_own_with_its_name', async () => {
    const first = watch(open());
    await first.whenReady();
    const tab = open();
    const write = writer(tab);
    const view = watch(tab);
    await view.whenReady();
    await write.mutate('1', [{ kind: 'put', collection: 'accounts', key: [7], record: { a: 4, b: 'x' } }]);
    await eventually('both see it', () => first.get([7])?.a === 4 && view.get([7])?.a === 4 && server.open === 2);
  });

  it('whatever_tabs_come_and_go_every_view_is_its_query_and_views_of_a_tab_move_together', async () => {
    for (const seed of seeds(3)) {
      const random = new Random(seed);
      let tabs = [open(), open()];
      let views = tabs.map((tab) => ({ low: -5, view: watch(tab), zero: watch(tab, 0) }));
      const torn: string[] = [];
      const check = ({ view, zero }: { view: View<Account>; zero: View<Account> }): void => {
        view.subscribe((change) => {
          if (change.kind !== 'commit' || view.sequence !== zero.sequence) return;
          for (const [key, account] of zero) if (view.get(key)?.a !== account.a) torn.push(`${key} at ${change.sequence}`);
        });
      };
      views.forEach(check);
      for (let i = 0; i < 40; ++i) {
        server.ledger.write(random, '1');
        if (random.chance(8)) server.cut();
        if (random.chance(10) && tabs.length > 1) {
          const at = random.below(tabs.length);
          tabs[at]?.close();
          tabs = tabs.filter((_, index) => index !== at);
          views = views.filter((_, index) => index !== at);
        } else if (random.chance(10) && tabs.length < 4) {
          const tab = open();
          const opened = { low: -5, view: watch(tab), zero: watch(tab, 0) };
          check(opened);
          tabs.push(tab);
          views.push(opened);
        }
        await new Promise((next) => setTimeout(next, random.below(6)));
      }
      for (const { view, zero } of views) await eventually(`seed ${seed} settles`, () => isQuery(view) && isQuery(zero, 0));
      expect(torn).toEqual([]);
      for (const tab of tabs) tab.close();
    }
  });
});
