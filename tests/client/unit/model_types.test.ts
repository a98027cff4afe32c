// Goal: a program that uses the types of `viewgate types` compiles where it is right, and does not where it is wrong; and records are
// what the types say. Method: the compiler reads this file (run.sh), and each line that it must refuse says so; the module that reads
// numbers exactly is run. The generated modules are those that test_projection compares with the program's output.

import { connect, optimistic, ordered, writer, type Client, type Optimistic, type SocketConstructor, type View } from '@viewgate/client';
import { hooks } from '@viewgate/react';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Model as Board } from '../../../demo/model.js';
import { parse, type Model as Exact } from '../../golden/typescript/exact.js';
import type { Model as Json } from '../../golden/typescript/json.js';
import type { Model as Lossless } from '../../golden/typescript/lossless.js';
import { FakeServer } from '../support/fake_server.js';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

type Card = Board['views']['board']['record'];
const odd = 'a \\ view';

/** Is compiled, and never called. */
export function subscribing(board: Client<Board>, exact: Client<Exact>, plain: Client): void {
  holds<Same<typeof cards, View<Card>>>();
  const cards = board.subscribe('board', { space: 'launch' });
  const late: string | null | undefined = cards.get(['id'])?.due;
  ordered(cards, { by: (a, b) => a.place - b.place, where: ({ list }) => list === late });
  board.subscribe('watch', { space: '3', params: { low: -100, high: null } });
  exact.subscribe('parts_of_kind', { space: '1', params: { kind: 'x' } });
  exact.subscribe(odd, { space: '1', params: { low: 9007199254740993n, flag: null, 'the moods': ['sad', null] } });
  // Without a model, every name is one.
  plain.subscribe<Card>('anything', { space: '1', params: { of: 'any kind' } });

  // @ts-expect-error: no such view
  board.subscribe('bord', { space: 'launch' });
  // @ts-expect-error: it has no parameters
  board.subscribe('board', { space: 'launch', params: { low: 1 } });
  // @ts-expect-error: it needs two
  board.subscribe('watch', { space: '3' });
  // @ts-expect-error: both of them
  board.subscribe('watch', { space: '3', params: { low: 1 } });
  // @ts-expect-error: not a label of the enum
  exact.subscribe(odd, { space: '1', params: { low: 1, flag: true, 'the moods': ['angry'] } });
  // @ts-expect-error: there is no such column
  cards.get(['id'])?.owner;
}

/** Is compiled, and never called. */
export function writing(board: Client<Board>, view: View<Card>, plain: Client): void {
  const write = writer(board);
  const cards = optimistic(write, view, { collection: 'cards', key: ['id'] });
  const card: Card = { id: '1', list: 'doing', title: 'x', note: null, assignee: null, priority: 1, due: null, place: 0 };
  void cards.create(card);
  void cards.update(['1'], { list: 'done', due: null });
  void write.mutate('launch', [
    { kind: 'create', collection: 'cards', key: ['1'], record: { list: 'doing', title: 'x', priority: 1, place: '1.10' } },
    { kind: 'update', collection: 'cards', key: ['1'], changed: { note: null }, bases: { plan: '4' } },
    { kind: 'delete', collection: 'cards', key: ['1'] },
  ]);
  // Without a model, what looks like the view's records may be written.
  const loose: Optimistic<Card> = optimistic<Card>(writer(plain), view, { collection: 'whatever', key: ['id'] });
  void loose.update(['1'], { list: 'done' });

  // @ts-expect-error: no such table
  optimistic(write, view, { collection: 'accounts', key: ['id'] });
  // @ts-expect-error: a title may not be null
  void cards.update(['1'], { title: null });
  // @ts-expect-error: the key never changes
  void cards.update(['1'], { id: '2' });
  // @ts-expect-error: the key is one column
  void cards.delete(['1', '2']);
  // @ts-expect-error: list, title, priority and place are needed
  void write.mutate('launch', [{ kind: 'create', collection: 'cards', key: ['1'], record: { note: 'x' } }]);
  // @ts-expect-error: there is no such column
  void write.mutate('launch', [{ kind: 'update', collection: 'cards', key: ['1'], changed: { colour: 'red' } }]);
  // @ts-expect-error: nobody may write it
  void writer(connect<Exact>({ url: '', token: () => '' })).mutate('1', [{ kind: 'delete', collection: 'read_only', key: ['1'] }]);
  // @ts-expect-error: there is no such column
  void loose.update(['1'], { colour: 'red' });
}

/** Is compiled, and never called. */
export function Rendered(): number {
  const { useView, useClient } = hooks<Board>();
  const { items } = useView('board', { space: 'launch', by: (a, b) => a.place - b.place });
  useView('watch', { space: '3', params: { low: 1, high: 2 } });
  useClient().subscribe('overdrawn', { space: '3' });
  // @ts-expect-error: no such view
  useView('bord', { space: 'launch' });
  // @ts-expect-error: it needs parameters
  useView('watch', { space: '3' });
  return items.filter(({ record }) => record.priority === 1).length;
}

/** How numbers are read is part of a record's type. */
type Odd<M extends { views: { 'a \\ view': { record: object } } }> = M['views']['a \\ view']['record'];
holds<Same<Pick<Odd<Json>, 'id' | 'amount' | 'real8'>, { readonly id: number; readonly amount: number | null; readonly real8: number | null }>>();
holds<Same<Odd<Lossless>['id'], number | bigint>>();
holds<Same<Odd<Lossless>['amount'], number | bigint | string | null>>();
holds<Same<Pick<Odd<Exact>, 'id' | 'amount' | 'real8'>, { readonly id: bigint; readonly amount: string | null; readonly real8: number | null }>>();
holds<Same<Odd<Exact>['mood'], 'sad' | 'ok' | 'happy' | null>>();
holds<Same<Odd<Exact>['tags'], readonly (string | null)[] | null>>();

describe('the types of a model', () => {
  let server: FakeServer;

  beforeEach(() => {
    server = new FakeServer(5);
  });

  afterEach(() => server.close());

  it('records_are_read_as_their_types_say', () => {
    const text = '{"id": 12345678901234567890, "small": 3, "amount": 1.10, "real4": "NaN", "real8": 1e+20, "next": 7, "flag": null, "tags": ["a", null]}';
    const record = parse(text, odd) as Odd<Exact>;
    expect(record.id).toBe(12345678901234567890n);
    expect(record.next).toBe(7n);
    expect(record.amount).toBe('1.10');
    expect(record.real4).toBe(NaN);
    expect(record.real8).toBe(1e20);
    expect([record.small, record.flag, record.tags]).toEqual([3, null, ['a', null]]);
    expect(parse('{"of": "another view"}', 'unheard of')).toEqual({ of: 'another view' });
  });

  it('a_typed_client_is_the_client_and_costs_nothing', async () => {
    const client = connect<Board>({ url: await server.listen(), token: () => 'token', WebSocket: WebSocket as unknown as SocketConstructor });
    // To whoever takes any client it is one.
    const plain: Client = client;
    server.ledger.write(server.random, '1');
    const view = client.subscribe('overdrawn', { space: '1' });
    await view.whenReady();
    expect(plain.subscribe('overdrawn', { space: '1' }).sequence).toBe(view.sequence);
    client.close();
  });
});
