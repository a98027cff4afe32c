// Goal: what a user does shows at once, happens once whatever breaks, and gives way to what the server made of it without a flicker.
// Method: real sockets to a gateway in memory that numbers, replays and refuses as the protocol says.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { optimistic, ordered, writer, type MutationRejected, type Optimistic } from '@viewgate/client';
import { eventually, type FakeServer } from '../support/fake_server.js';
import { WriteQueue } from '../../../client/src/write_queue.js';
import type { Watched } from '../../../client/src/writer.js';
import type { Account } from '../support/model_gateway.js';
import { Random, seeds } from '../support/random.js';
import { Kept, WritePages } from '../support/write_pages.js';

const pages = new WritePages();
let server: FakeServer;

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'applied',
    (error: MutationRejected) => error.reason,
  );
}

/** The numbers of the mutations that came. */
function numbersOf(isMeant: (message: Record<string, unknown>) => boolean): Set<unknown> {
  return new Set(server.received.filter(isMeant).map(({ number }) => number));
}

function stateOf(id: number): Account | undefined {
  const states = server.ledger.states('1');
  return states[states.length - 1]?.get(id);
}

beforeEach(async () => {
  server = await pages.start(11);
});

afterEach(() => pages.end());

describe('writing', () => {
  it('a_mutation_shows_at_once_and_the_receipt_comes_with_the_effect', async () => {
    const { accounts, write } = pages.open();
    await accounts.view.whenReady();
    const seen: string[] = [];
    accounts.subscribe((change) => {
      for (const item of change.entered) seen.push(`entered ${item.record.a}`);
      for (const { after, columns } of change.updated) if (columns.length > 0) seen.push(`updated ${after.record.a}`);
      for (const item of [...change.left, ...change.deleted]) seen.push(`gone ${item.record.a}`);
    });
    const created = accounts.create({ id: 5, a: 1, b: 'x' });
    expect(accounts.get([5])).toEqual({ id: 5, a: 1, b: 'x' });
    expect(accounts.isPending([5])).toBe(true);
    expect(accounts.size).toBe(1);
    expect((await created).outcome).toBe('applied');
    await eventually('it is confirmed', () => !accounts.isPending([5]));
    expect(accounts.view.get([5])).toEqual({ id: 5, a: 1, b: 'x' });
    await accounts.update([5], { a: 2 });
    await accounts.delete([5]);
    await eventually('nothing is pending', () => [...write.pending()].length === 0 && accounts.size === 0);
    expect(seen).toEqual(['entered 1', 'updated 2', 'gone 2']);
  });

  it('a_client_that_is_online_already_may_write_all_the_same', async () => {
    const client = pages.connect();
    const view = client.subscribe<Account>('above', { space: '1', params: { low: -10 } });
    await view.whenReady();
    const accounts = optimistic<Account>(writer(client), view, { collection: 'accounts', key: ['id'] });
    expect(await reasonOf(accounts.create({ id: 5, a: 1, b: 'x' }))).toBe('applied');
    await eventually('it is seen', () => view.get([5])?.a === 1);
    expect(client.status).toBe('online');
  });

  it('a_rejected_mutation_is_taken_back_with_its_reason', async () => {
    const { accounts, write } = pages.open();
    await accounts.view.whenReady();
    await accounts.create({ id: 5, a: 1, b: 'x' });
    const told: string[] = [];
    write.onRejected((error) => told.push(error.reason));
    const again = accounts.create({ id: 5, a: 7, b: 'y' });
    expect(accounts.get([5])?.a).toBe(7);
    expect(await reasonOf(again)).toBe('already_exists');
    await eventually('it is taken back', () => accounts.get([5])?.a === 1);
    expect(await reasonOf(accounts.update([6], { a: 1 }))).toBe('not_found');
    expect(told).toEqual(['already_exists', 'not_found']);
  });

  it('what_is_refused_by_the_door_frees_its_number_and_what_follows_is_sent_all_the_same', async () => {
    const { accounts, write } = pages.open();
    await accounts.view.whenReady();
    const results = [
      accounts.create({ id: 1, a: 1, b: 'x' }),
      accounts.create({ id: 2, a: 1, b: 'wrong' }),
      accounts.create({ id: 3, a: 1, b: 'y' }),
      accounts.update([1], { b: 'wrong' }),
      accounts.update([1], { a: 4 }),
    ];
    expect(await Promise.all(results.map(reasonOf))).toEqual(['applied', 'invalid_value', 'applied', 'invalid_value', 'applied']);
    expect([stateOf(1)?.a, stateOf(2), stateOf(3)?.a]).toEqual([4, undefined, 1]);
    expect(server.ledger.desk.applied).toEqual([1, 2, 3].map((number) => `${write.client} ${number}`));
  });

  it('a_conflict_says_which_groups_have_moved_and_own_changes_are_none', async () => {
    const { accounts } = pages.open();
    await accounts.view.whenReady();
    await accounts.create({ id: 1, a: 1, b: 'x' });
    await eventually('it is seen', () => accounts.view.has([1]));
    const own = [1, 2, 3].map((a) => accounts.update([1], { a }, { guard: ['record'] }));
    expect(await Promise.all(own.map(reasonOf))).toEqual(['applied', 'applied', 'applied']);
    const seen = accounts.view.sequence;
    const other = pages.open();
    await other.accounts.view.whenReady();
    await other.accounts.update([1], { a: 9 });
    const error = await accounts.update([1], { a: 5 }, { guard: ['record'], seen }).catch((caught: MutationRejected) => caught);
    expect(error).toMatchObject({ reason: 'conflict', groups: { record: expect.any(String) } });
    await eventually('the other one stands', () => accounts.get([1])?.a === 9);
  });

  it('case_25_what_is_more_than_the_server_takes_is_rejected_by_name_and_the_connection_and_all_else_go_on', async () => {
    const kept = new Kept('tab-1');
    // Offline nobody knows what the server takes: what is too much is found when it would be sent, by this page or the next one.
    const before = pages.open({ store: kept });
    before.client.close();
    void before.accounts.create({ id: 1, a: 1, b: 'x'.repeat(70_000) });
    void before.accounts.create({ id: 2, a: 2, b: 'é"\\{:'.repeat(6_000) });
    await eventually('both are stored', () => kept.stored[0]?.texts.length === 2);
    const { client, accounts, write } = pages.open({ store: kept });
    const told: string[] = [];
    const closes: (number | undefined)[] = [];
    client.onState(({ lastClose }) => closes.push(lastClose));
    write.onRejected(({ reason, message }) => told.push(`${reason} ${/\d+ \w+/.exec(message)?.[0]}`));
    await eventually('one is applied and the other is not', () => told.length === 1 && stateOf(2) !== undefined);
    const wide = Object.fromEntries(Array.from({ length: 4_100 }, (_, i) => [`c${i}`, i]));
    const deep = JSON.parse('['.repeat(40) + ']'.repeat(40)) as unknown;
    const put = (id: number, record: object): Promise<string> => reasonOf(write.mutate('1', [{ kind: 'put', collection: 'accounts', key: [id], record }]));
    const results = [put(3, { a: 3 }), put(4, wide), put(5, { b: deep }), put(6, { b: 'é'.repeat(32_760) }), put(7, { a: 7 })];
    expect(await Promise.all(results)).toEqual(['applied', 'too_large', 'too_large', 'too_large', 'applied']);
    expect(told.map((each) => each.split(' ')[2])).toEqual(['bytes', 'members', 'objects', 'bytes']);
    expect(server.ledger.desk.applied).toEqual([1, 2, 3].map((number) => `tab-1 ${number}`));
    expect(closes).not.toContain(1009);
    expect([write.unanswered, accounts.isPending([6])]).toEqual([0, false]);
    expect(kept.stored).toEqual([{ space: '1', last: 3, texts: [] }]);
  });

  it('a_number_that_was_sent_may_be_used_and_one_that_was_not_is_free', () => {
    const numbers = (wasSent: boolean): number[] => {
      const queue = new WriteQueue('1');
      for (const b of ['x'.repeat(500), 'y', 'z']) {
        const mutations = [{ kind: 'put', collection: 'accounts', key: [1], record: { b } }] as const;
        queue.add({ mutations, options: {}, resolve: () => undefined, reject: () => undefined });
      }
      for (const entry of queue.settle()) entry.isStored = true;
      if (wasSent) expect(queue.take(1_000).texts.length).toBe(3);
      queue.connected();
      const { texts, tooLarge } = queue.take(400);
      expect([texts, tooLarge?.[0].number]).toEqual([[], 1]);
      return queue.entries.map(({ number }) => number);
    };
    expect([numbers(false), numbers(true)]).toEqual([[1, 2], [2, 3]]);
  });

  it('what_stands_in_a_string_is_no_member_and_no_list_however_it_is_escaped_and_however_long_it_is', () => {
    const excess = (record: object): string | undefined => {
      const queue = new WriteQueue('1');
      queue.add({ mutations: [{ kind: 'put', collection: 'accounts', key: [1], record }], options: {}, resolve: () => undefined, reject: () => undefined });
      for (const entry of queue.settle()) entry.isStored = true;
      return queue.take(1 << 26).tooLarge?.[1];
    };
    const [members, lists] = [':'.repeat(5_000), '['.repeat(50)];
    for (const start of ['', '"', '\\', '\\"', '"\\', '\\\\"', '\n"', 'é\u2028"']) {
      for (const end of ['', '"', '\\', '\\\\', '"\\']) {
        const string = start + members + lists + end;
        expect(excess({ [string]: string, b: string })).toBeUndefined();
        // What follows such a string counts.
        const deep = JSON.parse(lists + ']'.repeat(50)) as unknown;
        expect(excess({ a: string, deep })).toMatch(/^5\d objects and lists/);
      }
    }
    expect(excess({ b: '"'.repeat(1 << 24) })).toBeUndefined();
    expect(excess({ b: 'x'.repeat(1 << 25) })).toBeUndefined();
  });

  it('what_no_message_may_hold_is_rejected_when_it_is_asked_for', async () => {
    const { accounts, write } = pages.open();
    await accounts.view.whenReady();
    const one = { kind: 'delete', collection: 'accounts', key: [1] } as const;
    const told: string[] = [];
    write.onRejected(({ reason, message }) => told.push(`${reason} ${message.split(':')[0]}`));
    const asked = [
      write.mutate('1', []),
      write.mutate('1', Array.from({ length: 501 }, () => one)),
      write.mutate('1', [one], { requestId: 'é'.repeat(65) }),
      write.mutate('1', [one], { requestId: '' }),
      write.mutate('1', [one], { provenance: { why: 'x'.repeat(1_024) } }),
    ];
    expect(write.unanswered).toBe(0);
    expect(await Promise.all(asked.map(reasonOf))).toEqual(asked.map(() => 'bad_request'));
    const names = ['mutations', 'mutations', 'requestId', 'requestId', 'provenance'];
    expect(told).toEqual(names.map((name) => `bad_request ${name}`));
    expect(await reasonOf(accounts.create({ id: 5, a: 1, b: 'x' }, { requestId: 'é'.repeat(64), provenance: { why: 'x'.repeat(1_000) } }))).toBe('applied');
    // A machine that stands still for a moment makes it sent twice.
    expect(numbersOf(({ type }) => type === 'mutate').size).toBe(1);
  });

  it('over_a_view_that_is_refused_nothing_stays_pending', async () => {
    for (const end of [{ type: 'unsubscribed', reason: 'forbidden' }, { type: 'error', code: 'invalid_view', message: 'gone' }]) {
      const { accounts, write } = pages.open();
      await eventually('it is live', () => accounts.view.status === 'live');
      // A machine that stands still for a moment makes another connection, and there another id.
      await eventually('it is over', () => {
        const subscribe = server.received.filter(({ type }) => type === 'subscribe').at(-1);
        server.say(JSON.stringify({ ...end, id: subscribe?.['id'] }));
        return accounts.view.status === 'denied' || accounts.view.status === 'failed';
      });
      const id = 50 + server.ledger.head('1');
      expect(await reasonOf(accounts.create({ id, a: 1, b: 'x' }))).toBe('applied');
      await eventually('it is taken away', () => [...write.pending()].length === 0 && !accounts.isPending([id]) && accounts.get([id]) === undefined);
    }
  });

  it('what_waits_for_a_view_waits_no_longer_when_that_is_over', async () => {
    for (const over of ['denied', 'failed', 'closed'] as const) {
      const { client, write } = pages.open();
      const listeners: (() => void)[] = [];
      const view: { space: string; sequence: string; status: Watched['status']; onState: Watched['onState'] } = {
        space: '1',
        sequence: '0',
        status: 'catching_up',
        onState: (listener) => {
          listeners.push(listener);
          return () => void listeners.splice(listeners.indexOf(listener), 1);
        },
      };
      const end = write.watch(view);
      await eventually('it is online', () => client.status === 'online');
      await write.mutate('1', [{ kind: 'put', collection: 'accounts', key: [1], record: { a: 1, b: 'x' } }]);
      expect([...write.pending()].length).toBe(1);
      // No event of the client comes with it: somebody closes a view whose subscription others share.
      view.status = over;
      for (const listener of listeners) listener();
      let told = 0;
      write.onChange(() => told++);
      await eventually('it is shown no longer', () => [...write.pending()].length === 0);
      expect(told).toBeGreaterThan(0);
      end();
      expect(listeners).toEqual([]);
    }
  });

  it('a_key_given_as_text_is_that_of_the_record_that_has_it_as_a_number', async () => {
    const kept = new Kept('tab-1');
    const first = pages.open({ store: kept });
    await first.accounts.view.whenReady();
    await first.accounts.create({ id: 7, a: 1, b: 'x' });
    await eventually('it is seen', () => first.accounts.view.has([7]));
    first.client.close();
    void first.accounts.put({ id: '7' as never, a: 2, b: 'y' });
    void first.accounts.update([7n], { a: 3 });
    const see = (accounts: Optimistic<Account>): unknown => [[...accounts.items()].map(({ key }) => key), accounts.get([7]), accounts.isPending(['7'])];
    expect(see(first.accounts)).toEqual([['[7]'], { id: 7, a: 3, b: 'y' }, true]);
    const second = pages.open({ store: kept });
    // Its first set may be one of before the record was made.
    await eventually('it is seen again', () => second.accounts.view.has([7]));
    expect((see(second.accounts) as unknown[])[0]).toEqual(['[7]']);
    await eventually('it is applied', () => second.write.unanswered === 0 && second.accounts.view.get([7])?.a === 3);
  });

  it('case_36_a_mutation_sent_twice_has_one_effect_and_one_receipt', async () => {
    const { accounts } = pages.open();
    await accounts.view.whenReady();
    for (let i = 1; i <= 20; ++i) {
      const result = accounts.put({ id: 1, a: i % 10, b: 'x' });
      if (i % 3 === 0) server.cut();
      expect((await result).outcome).toBe('applied');
    }
    expect(new Set(server.ledger.desk.applied).size).toBe(20);
    expect(server.ledger.desk.applied.length).toBe(20);
  });

  it('an_answer_that_is_lost_is_asked_for_by_sending_again', async () => {
    const { accounts, write } = pages.open();
    await accounts.view.whenReady();
    server.ledger.desk.lost = 2;
    const put = (a: number): Promise<string> => reasonOf(write.mutate('1', [{ kind: 'put', collection: 'accounts', key: [1], record: { a, b: 'x' } }]));
    expect(await Promise.all([put(1), put(2), put(3)])).toEqual(['applied', 'applied', 'applied']);
    expect(server.ledger.desk.applied.length).toBe(3);
  });

  it('what_the_writer_waits_for_it_waits_for_by_the_clock_of_its_client', async () => {
    const asked: number[] = [];
    const timers = {
      set: (callback: () => void, milliseconds: number) => (asked.push(milliseconds), setTimeout(callback, milliseconds === 987_654 ? 200 : milliseconds)),
      clear: (handle: unknown) => clearTimeout(handle as ReturnType<typeof setTimeout>),
      now: () => Date.now(),
      random: () => 0.5,
    };
    const write = writer(pages.connect(timers), { patience: 987_654 });
    const put = (): Promise<string> => reasonOf(write.mutate('1', [{ kind: 'put', collection: 'accounts', key: [1], record: { a: 1, b: 'x' } }]));
    server.ledger.desk.lost = 1;
    expect(await put()).toBe('applied');
    server.ledger.desk.unavailable = 1;
    expect(await put()).toBe('applied');
    expect(asked).toEqual(expect.arrayContaining([20, 987_654]));
  });

  it('what_was_done_offline_is_sent_after_a_reload_and_once', async () => {
    const kept = new Kept('tab-1');
    const first = pages.open({ store: kept });
    await first.accounts.view.whenReady();
    await first.accounts.create({ id: 1, a: 1, b: 'x' });
    first.client.close();
    void first.accounts.update([1], { a: 2 });
    void first.accounts.create({ id: 2, a: 3, b: 'y' });
    expect(first.accounts.get([1])?.a).toBe(2);
    const second = pages.open({ store: kept });
    expect(second.write.unanswered).toBe(2);
    await second.accounts.view.whenReady();
    expect(second.accounts.get([2])?.a).toBe(3);
    await eventually('both are applied', () => stateOf(1)?.a === 2 && stateOf(2)?.a === 3 && second.write.unanswered === 0);
    await second.accounts.update([2], { a: 4 });
    expect(server.ledger.desk.applied).toEqual([1, 2, 3, 4].map((number) => `tab-1 ${number}`));
    expect(kept.stored).toEqual([{ space: '1', last: 4, texts: [] }]);
  });

  it('what_is_guarded_and_waits_for_receipts_outlives_a_reload_with_what_this_page_knew', async () => {
    const kept = new Kept('tab-1');
    const first = pages.open({ store: kept });
    await first.accounts.view.whenReady();
    await first.accounts.create({ id: 1, a: 1, b: 'x' });
    const seen = first.accounts.view.sequence;
    await first.accounts.update([1], { a: 2 }, { guard: ['record'], seen });
    first.client.close();
    // The first one in the queue has a text at once, those behind it have none before its receipt is there.
    void first.accounts.create({ id: 2, a: 3, b: 'y' });
    void first.accounts.update([1], { a: 4 }, { guard: ['record'], seen });
    void first.accounts.update([2], { a: 5 }, { guard: ['record'], seen, requestId: 'last' });
    const second = pages.open({ store: kept });
    const rejected: MutationRejected[] = [];
    second.write.onRejected((error) => rejected.push(error));
    expect(second.write.unanswered).toBe(3);
    await eventually('all are applied', () => stateOf(1)?.a === 4 && stateOf(2)?.a === 5 && second.write.unanswered === 0);
    expect(rejected).toEqual([]);
    expect(numbersOf((message) => message['request_id'] === 'last').size).toBe(1);
    expect(server.ledger.desk.applied).toEqual([1, 2, 3, 4, 5].map((number) => `tab-1 ${number}`));
    expect(kept.stored).toEqual([{ space: '1', last: 5, texts: [] }]);
  });

  it('what_one_principal_did_is_neither_sent_nor_shown_when_the_next_one_comes', async () => {
    const kept = new Kept('c');
    const { client, write, accounts } = pages.open({ store: kept });
    await eventually('it is alice’s', () => client.principal === 'alice' && accounts.view.status === 'live');
    server.principal = 'bob';
    server.cut();
    await eventually('it is offline', () => client.status === 'offline');
    const told: string[] = [];
    write.onRejected((error) => told.push(error.reason));
    const reason = reasonOf(accounts.create({ id: 77, a: 3, b: 'secret of alice' }));
    expect(accounts.get([77])?.b).toBe('secret of alice');
    // The first moment in which bob is there: nothing of alice's may be seen, or sent, from then on.
    const seen: unknown[] = [];
    client.onState(() => client.principal === 'bob' && client.status === 'online' && seen.push(accounts.get([77])));
    expect(await reason).toBe('signed_out');
    await eventually('it is bob’s', () => client.principal === 'bob' && accounts.view.status === 'live');
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter((record) => record !== undefined)).toEqual([]);
    expect([accounts.get([77]), write.unanswered, told]).toEqual([undefined, 0, ['signed_out']]);
    expect(kept.stored.flatMap(({ texts }) => texts)).toEqual([]);
    expect(server.received.filter(({ type }) => type === 'mutate')).toEqual([]);
    // What comes after is sent again.
    expect(await reasonOf(accounts.create({ id: 78, a: 4, b: 'x' }))).toBe('applied');
  });

  it('a_revocation_takes_back_what_was_not_answered', async () => {
    const { client, write, accounts } = pages.open();
    await eventually('it is live', () => accounts.view.status === 'live');
    server.ledger.desk.lost = 1;
    const reason = reasonOf(accounts.create({ id: 77, a: 3, b: 'x' }));
    server.end(4005);
    expect(await reason).toBe('signed_out');
    expect([client.status, write.unanswered, accounts.get([77])]).toEqual(['denied', 0, undefined]);
  });

  it('a_record_that_a_change_takes_out_of_the_view_leaves_at_once', async () => {
    const { accounts } = pages.open({ view: 'overdrawn' });
    await accounts.view.whenReady();
    await accounts.create({ id: 1, a: -1, b: 'x' });
    const list = ordered(accounts, { by: (x, y) => x.a - y.a });
    expect(list.list.map((item) => item.record.a)).toEqual([-1]);
    const done = accounts.update([1], { a: 5 });
    expect([accounts.size, list.size]).toEqual([0, 0]);
    await done;
    await eventually('the view agrees', () => accounts.view.size === 0);
  });

  it('through_cuts_and_outages_every_mutation_happens_once_and_in_order_and_what_is_seen_is_never_half', async () => {
    for (const seed of seeds(4)) {
      const random = new Random(seed);
      const { accounts, write } = pages.open();
      // A view that is a commit behind has not seen what the one before wrote last: that would be a conflict.
      await eventually('the view is live', () => accounts.view.status === 'live');
      const folded = new Map([...accounts.items()].map((item) => [item.key, item.record]));
      accounts.subscribe((change) => {
        for (const item of [...change.left, ...change.deleted]) expect(folded.delete(item.key)).toBe(true);
        for (const item of change.entered) folded.set(item.key, item.record);
        for (const { key, before, after } of change.updated) {
          expect(folded.get(key)).toEqual(before.record);
          folded.set(key, after.record);
        }
      });
      const results: Promise<string>[] = [];
      for (let i = 0; i < 60; ++i) {
        const key = [1 + random.below(8)] as const;
        const what = random.below(10);
        if (what < 4) results.push(reasonOf(accounts.put({ id: key[0], a: random.below(9), b: `${i}` })));
        else if (what < 7) results.push(reasonOf(accounts.update(key, { a: random.below(9) }, random.chance(50) ? { guard: ['record'] } : {})));
        else if (what < 8) results.push(reasonOf(accounts.delete(key)));
        else if (what < 9) server.cut();
        else server.ledger.desk.unavailable = 1 + random.below(3);
        if (random.chance(40)) await new Promise((next) => setTimeout(next, random.below(8)));
      }
      const all = await Promise.all(results);
      expect(all.filter((reason) => !['applied', 'not_found'].includes(reason)), `seed ${seed}`).toEqual([]);
      const applied = server.ledger.desk.applied.filter((each) => each.startsWith(write.client)).map((each) => Number(each.split(' ')[1]));
      expect(applied).toEqual([...new Set(applied)].sort((x, y) => x - y));
      expect(applied.length).toBe(all.filter((reason) => reason === 'applied').length);
      await eventually('nothing is pending', () => [...write.pending()].length === 0);
      const states = server.ledger.states('1');
      const last = states[states.length - 1] ?? new Map<number, Account>();
      await eventually('the view is at the head', () => accounts.view.sequence === String(states.length - 1) || accounts.view.size === last.size);
      await eventually('what is seen is what there is', () => same([...folded.values()], [...last.values()]));
      expect(same([...accounts.items()].map((item) => item.record), [...last.values()])).toBe(true);
    }
  });
});

function same(a: readonly Account[], b: readonly Account[]): boolean {
  const text = (list: readonly Account[]): string => JSON.stringify([...list].sort((x, y) => x.id - y.id).map(({ id, a: n, b: t }) => [id, n, t]));
  return text(a) === text(b);
}
