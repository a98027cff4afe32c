// Goal: what a mutation says is what is stored and shown: every digit, every column, and nothing that has no text.
// Method: as in writer.test.ts, real sockets to a gateway in memory; what goes over them is read as text.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Change, MutationRejected } from '@viewgate/client';
import { eventually, type FakeServer } from '../support/fake_server.js';
import type { Account } from '../support/model_gateway.js';
import { Kept, WritePages, type WritePage } from '../support/write_pages.js';
import { WriteQueue } from '../../../client/src/write_queue.js';

type Record = Account & { readonly meta?: unknown };

const pages = new WritePages<Record>();
let server: FakeServer;

/** Its mutations as they went out. */
const mutations = (): string[] => pages.sent.filter((text) => text.startsWith('{"type":"mutate"')).map((text) => text.slice(text.indexOf('"mutations"')));

/** No answer is lost to it. */
const open = (store?: Kept): WritePage<Record> => pages.open({ patience: 400_000, ...(store && { store }) });

beforeEach(async () => {
  server = await pages.start(12);
});

afterEach(() => pages.end());

describe('what has no text', () => {
  it('is_rejected_by_name_and_stops_nothing_that_comes_after_it', async () => {
    const store = new Kept('tab-1');
    const { accounts, write } = open(store);
    await accounts.view.whenReady();
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const throwing = {
      toJSON: (): never => {
        throw new Error('not today');
      },
    };
    const told: string[] = [];
    write.onRejected(({ reason, message }) => told.push(`${reason} ${message.split(':')[0]}`));
    const guarded = { guard: ['record'] };
    const asked = [
      accounts.update([1], { meta: circle }),
      accounts.update([1], { meta: circle }, guarded),
      accounts.create({ id: 3, a: 1, b: 'x', meta: throwing }),
      accounts.delete([circle]),
      accounts.update([1], { a: 1 }, { provenance: circle }),
      accounts.update([1], { a: 1 }, { guard: 'record' as never }),
      accounts.update(undefined as never, { a: 1 }),
    ];
    const reasons = await Promise.all(asked.map((each) => each.then(() => 'applied', (error: MutationRejected) => error.reason)));
    expect(reasons).toEqual(asked.map(() => 'bad_request'));
    const names = ['mutations.0.changed.meta', 'mutations.0.changed.meta', 'mutations.0.record.meta', 'mutations.0.key.0', 'provenance', 'guard', 'mutations.0.key'];
    expect(told).toEqual(names.map((name) => `bad_request ${name}`));
    expect([write.unanswered, [...accounts.items()].length, store.stored]).toEqual([0, 0, []]);
    expect((await accounts.create({ id: 5, a: 1, b: 'x' })).outcome).toBe('applied');
    expect((await accounts.update([5], { a: 2 }, guarded)).outcome).toBe('applied');
  });
});

describe('numbers', () => {
  it('case_31_a_bigint_goes_out_as_its_digits_however_deep_it_is', async () => {
    const { accounts } = open();
    await accounts.view.whenReady();
    const meta = { big: 9007199254740993n, list: [-1n, '#1', { '##2': 3 }], note: 'b' };
    await accounts.create({ id: 5, a: 1, b: 'x', meta });
    await accounts.update([5n], { meta: 12345678901234567890n }, { provenance: { of: 9007199254740993n } });
    expect(mutations()).toEqual([
      '"mutations":[{"kind":"create","collection":"accounts","key":[5],"record":{"id":5,"a":1,"b":"x","meta":{"big":9007199254740993,"list":[-1,"#1",{"##2":3}],"note":"b"}}}]}',
      '"mutations":[{"kind":"update","collection":"accounts","key":[5],"changed":{"meta":12345678901234567890}}],"provenance":{"of":9007199254740993}}',
    ]);
  });

  it('case_31_a_bigint_that_waits_for_its_receipt_outlives_a_reload_with_all_digits', async () => {
    const store = new Kept('tab-1');
    const first = open(store);
    await first.accounts.view.whenReady();
    first.client.close();
    void first.accounts.create({ id: 5, a: 1, b: 'x' });
    // Behind another one and guarded: what is stored of it is no message yet.
    void first.accounts.update([5], { meta: { big: 9007199254740993n } }, { guard: ['record'] });
    await eventually('both are stored', () => store.stored[0]?.texts.length === 2);
    const second = open(store);
    expect([...second.write.pending()].map(({ mutation }) => 'changed' in mutation && mutation.changed)).toEqual([false, { meta: { big: 9007199254740993n } }]);
    await eventually('all is answered', () => second.write.unanswered === 0);
    expect(mutations().filter((text) => text.includes('update'))[0]).toContain('"changed":{"meta":{"big":9007199254740993}}');
  });

  it('an_own_change_counts_as_seen_however_its_key_was_given', () => {
    const entry = { resolve: (): void => undefined, reject: (): void => undefined };
    const update = (key: unknown) => ({ kind: 'update', collection: 'accounts', key: [key], changed: {} }) as const;
    for (const key of [9007199254740993n, '9007199254740993']) {
      const queue = new WriteQueue('1');
      queue.add({ ...entry, mutations: [update(9007199254740993n)], options: {} });
      const text = '{"acknowledgement":[{"collection":"accounts","key":[9007199254740993],"versions":{"record":"5"}}]}';
      queue.received({ client: 'c', number: '1', sequence: '5', outcome: 'applied', text });
      queue.add({ ...entry, mutations: [update(key)], options: { guard: ['record'], seen: '2' } });
      expect(queue.settle()[0]?.text).toContain('"bases":{"record":"5"}');
    }
  });

  it('what_somebody_else_did_to_another_group_of_the_record_does_not_count_as_seen', () => {
    const queue = new WriteQueue('1');
    const mutation = { kind: 'update', collection: 'cards', key: [1], changed: {} } as const;
    const entry = { mutations: [mutation], resolve: (): void => undefined, reject: (): void => undefined };
    queue.add({ ...entry, options: {} });
    queue.settle();
    // The own commit 5 moved `position`; `plan` moved at 4, by somebody else, after the user looked at 2.
    const text = '{"acknowledgement":[{"collection":"cards","key":[1],"versions":{"plan":"4","position":"5"}}]}';
    queue.received({ client: 'c', number: '1', sequence: '5', outcome: 'applied', text });
    queue.add({ ...entry, options: { guard: ['plan', 'position'], seen: '2' } });
    const [settled] = queue.settle();
    expect(settled?.text).toContain('"bases":{"plan":"2","position":"5"}');
  });
});

describe('what the caller changes afterwards', () => {
  it('changes_nothing_of_what_is_shown_sent_or_stored', async () => {
    const store = new Kept('tab-1');
    const { accounts, client, write } = open(store);
    await accounts.view.whenReady();
    client.close();
    const meta: { list: unknown[]; due: Date; self?: unknown } = { list: [1], due: new Date(0) };
    const key = [5];
    const created = accounts.create({ id: 5, a: 1, b: 'x', meta });
    const changed = { a: 2 };
    const provenance: { form: unknown } = { form: 'one' };
    const guard = ['record'];
    // Behind another one and guarded: its text is made when that one has its receipt.
    const updated = accounts.update(key as never, changed, { guard, provenance });
    const list = [{ kind: 'put', collection: 'accounts', key: [6], record: { a: 1, b: 'y' } } as const];
    const put = write.mutate('1', list);
    meta.self = meta;
    meta.list.push(2);
    meta.due.setTime(1);
    key[0] = 7;
    changed.a = 3;
    provenance.form = provenance;
    guard.push('position');
    list.length = 0;
    expect([accounts.get([5]), accounts.get([6])?.b, accounts.get([7])]).toEqual([{ id: 5, a: 2, b: 'x', meta: { list: [1], due: new Date(0) } }, 'y', undefined]);
    client.retry();
    expect((await Promise.all([created, updated, put])).map(({ outcome }) => outcome)).toEqual(['applied', 'applied', 'applied']);
    const due = '"1970-01-01T00:00:00.000Z"';
    expect(mutations()).toEqual([
      `"mutations":[{"kind":"create","collection":"accounts","key":[5],"record":{"id":5,"a":1,"b":"x","meta":{"list":[1],"due":${due}}}}]}`,
      expect.stringMatching(/"changed":\{"a":2\},"bases":\{"record":"\d+"\}\}\],"provenance":\{"form":"one"\}\}$/),
      '"mutations":[{"kind":"put","collection":"accounts","key":[6],"record":{"a":1,"b":"y"}}]}',
    ]);
  });
});

describe('what shows before the server has said it', () => {
  it('a_column_that_is_left_out_is_null_as_it_will_be', async () => {
    const { accounts, client } = open();
    await accounts.view.whenReady();
    await accounts.create({ id: 1, a: 1, b: 'x' });
    await eventually('it is seen', () => accounts.view.has([1]));
    client.close();
    void accounts.create({ id: 2, a: 1 } as never);
    void accounts.put({ id: 3, b: 'x' } as never);
    expect([accounts.get([2]), accounts.get([3])]).toEqual([
      { id: 2, a: 1, b: null },
      { id: 3, a: null, b: 'x' },
    ]);
  });

  it('what_goes_on_showing_is_not_told_again_when_something_else_changes', async () => {
    const { accounts, write } = pages.open();
    await accounts.view.whenReady();
    await accounts.create({ id: 1, a: 1, b: 'x' });
    await eventually('it is seen', () => accounts.view.has([1]) && !accounts.isPending([1]));
    const told: Change<Record>[] = [];
    accounts.subscribe((change) => told.push(change));
    server.ledger.desk.lost = 1;
    void accounts.update([1], { a: 2 });
    expect(told.flatMap(({ updated }) => updated).map(({ after }) => after.record.a)).toEqual([2]);
    // Its own answer is lost, so it is pending while others come and go.
    await accounts.create({ id: 2, a: 1, b: 'x' });
    await accounts.update([2], { a: 3 });
    await eventually('all is answered', () => write.unanswered === 0 && !accounts.isPending([1]));
    expect(told.flatMap(({ updated }) => updated).filter(({ before, after }) => before === after)).toEqual([]);
  });
});
