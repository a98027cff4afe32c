// Goal: what the SDK writes through the built gateway happens once and in order, whatever breaks, and its receipt comes with its effect.
// Method: PostgreSQL, links that break at any moment, a gateway that is killed; the log of the ledger is counted.

import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { connect, optimistic, parseLossless, writer, type Client, type MutationRejected, type Optimistic, type SocketConstructor, type Writer } from '../../../client/src/index.js';
import { eventually } from '../support/fake_server.js';
import { Random, seeds } from '../support/random.js';
import { Stack } from '../support/stack.js';

interface Card {
  id: string;
  list: string;
  title: string;
  note: string | null;
  assignee: string | null;
  priority: number;
  due: string | null;
  place: number;
}

const stack = new Stack();
const clients: Client[] = [];
const sockets = new Set<WebSocket>();

class Breakable extends WebSocket {
  constructor(url: string, protocol: string) {
    super(url, protocol);
    sockets.add(this);
    this.on('close', () => sockets.delete(this));
  }
}

function open(person: string, role: string, space: string): { client: Client; write: Writer; cards: Optimistic<Card> } {
  const token = (): Promise<string> => stack.personToken(person, role);
  const client = connect({ url: stack.socketUrl, token, WebSocket: Breakable as unknown as SocketConstructor });
  clients.push(client);
  const write = writer(client);
  const view = client.subscribe<Card>('board', { space });
  return { client, write, cards: optimistic<Card>(write, view, { collection: 'cards', key: ['id'] }) };
}

function newCard(place: number, more: Partial<Card> = {}): Card {
  return { id: randomUUID(), list: 'doing', title: `card ${place}`, note: null, assignee: null, priority: 2, due: null, place, ...more };
}

function reasonOf(result: Promise<{ outcome: string }>): Promise<string> {
  return result.then(
    ({ outcome }) => outcome,
    ({ reason }: MutationRejected) => reason,
  );
}

beforeAll(() => stack.start());
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => stack.stop());

describe('writing through the gateway', () => {
  it('case_36_through_broken_links_and_a_killed_gateway_every_mutation_is_one_commit_in_order', async () => {
    const random = new Random(seeds(1)[0] ?? 1);
    const { client, cards, write } = open('ada', 'lead', 'breaks');
    await cards.view.whenReady();
    const card = newCard(0);
    expect((await cards.create(card)).outcome).toBe('applied');
    const results: Promise<string>[] = [];
    for (let i = 1; i <= 40; ++i) {
      results.push(reasonOf(cards.update([card.id], { place: i })));
      if (random.chance(25)) {
        for (const socket of sockets) socket.terminate();
        client.retry();
      }
      if (i === 20) {
        await stack.killGateway();
        await stack.startGateway();
        client.retry();
      }
      await new Promise((next) => setTimeout(next, random.below(30)));
    }
    expect([...new Set(await Promise.all(results))]).toEqual(['applied']);
    await eventually('nothing is pending', () => [...write.pending()].length === 0);
    expect(cards.view.get([card.id])?.place).toBe(40);
    expect(cards.view.sequence).toBe('41');
    expect(await stack.settledHead('breaks')).toBe('41');
  });

  it('case_36_a_mutation_without_an_effect_and_one_that_is_rejected_have_receipts_too', async () => {
    const { cards, write } = open('ben', 'member', 'outcomes');
    await cards.view.whenReady();
    const card = newCard(1, { assignee: 'ben' });
    expect(await reasonOf(cards.create(card))).toBe('applied');
    await eventually('it is seen', () => cards.view.has([card.id]));
    expect(await reasonOf(cards.update([card.id], { title: card.title }))).toBe('no_op');
    expect(await reasonOf(cards.create(card))).toBe('already_exists');
    expect(await reasonOf(cards.update([randomUUID()], { title: 'x' }))).toBe('not_found');
    expect(await reasonOf(cards.delete([card.id]))).toBe('forbidden');
    expect(await reasonOf(cards.update([card.id], { due: 'yesterday' }))).toBe('invalid_value');
    expect(await reasonOf(cards.update([card.id], { place: 7 }))).toBe('applied');
    await eventually('nothing is pending', () => [...write.pending()].length === 0 && cards.view.get([card.id])?.place === 7);
  });

  it('the_effect_and_the_end_of_the_overlay_are_one_moment', async () => {
    const { cards, client } = open('ada', 'lead', 'moments');
    // A second view of the space, so that both move at the word of the gateway.
    const second = client.subscribe<Card>('board', { space: 'moments', params: {} });
    await Promise.all([cards.view.whenReady(), second.whenReady()]);
    const card = newCard(0);
    await cards.create(card);
    const seen: number[] = [];
    cards.subscribe((change) => seen.push(...change.updated.map(({ after }) => after.record.place)));
    for (let place = 1; place <= 30; ++place) await cards.update([card.id], { place });
    await eventually('it is confirmed', () => !cards.isPending([card.id]));
    // Never back to what was before.
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });

  it('a_conflict_names_the_group_that_moved_and_other_groups_are_free', async () => {
    const [ada, ben] = [open('ada', 'lead', 'conflicts'), open('ben', 'member', 'conflicts')];
    await Promise.all([ada.cards.view.whenReady(), ben.cards.view.whenReady()]);
    const card = newCard(1);
    await ada.cards.create(card);
    await eventually('ben sees it', () => ben.cards.view.has([card.id]));
    const seen = ben.cards.view.sequence;
    await ada.cards.update([card.id], { due: '2031-01-02' });
    expect(await reasonOf(ben.cards.update([card.id], { list: 'done' }, { guard: ['position'], seen }))).toBe('applied');
    const error = await ben.cards.update([card.id], { due: '2031-03-04' }, { guard: ['plan'], seen }).catch((caught: MutationRejected) => caught);
    expect(error).toMatchObject({ reason: 'conflict', groups: { plan: '2' } });
    await eventually('it is taken back', () => ben.cards.get([card.id])?.due === '2031-01-02');
  });

  it('case_25_up_to_its_bounds_a_message_is_taken_and_beyond_them_it_is_not_sent_and_the_connection_goes_on', async () => {
    const { client, cards, write } = open('ada', 'lead', 'bounds');
    await cards.view.whenReady();
    const closes: (number | undefined)[] = [];
    client.onState(({ lastClose }) => lastClose !== undefined && closes.push(lastClose));
    const card = newCard(1);
    await cards.create(card);
    const around = JSON.stringify({
      type: 'mutate',
      space: 'bounds',
      number: '1',
      mutations: [{ kind: 'update', collection: 'cards', key: [card.id], changed: { note: '' } }],
    }).length;
    const note = (bytes: number): Promise<string> => reasonOf(cards.update([card.id], { note: 'x'.repeat(bytes - around) }));
    expect([await note(65_536), await note(65_537)]).toEqual(['applied', 'too_large']);
    const deep = (depth: number): object => ({ a: JSON.parse('['.repeat(depth - 2) + ']'.repeat(depth - 2)) as unknown });
    const place = (depth: number): Promise<string> => reasonOf(cards.update([card.id], { place: depth }, { provenance: deep(depth) }));
    expect([await place(32), await place(33)]).toEqual(['applied', 'too_large']);
    const wide = (members: number): Promise<string> => {
      const record = Object.fromEntries(Array.from({ length: members - 8 }, (_, i) => [`c${i}`, 0]));
      return reasonOf(write.mutate('bounds', [{ kind: 'put', collection: 'cards', key: [card.id], record }]));
    };
    expect([await wide(4_096), await wide(4_097)]).toEqual(['invalid_value', 'too_large']);
    expect(await reasonOf(cards.update([card.id], { note: 'all is well' }))).toBe('applied');
    expect(closes).toEqual([]);
  });

  it('python_writes_over_http_and_a_replay_has_the_same_receipt', async () => {
    const { cards } = open('ada', 'lead', 'python');
    await cards.view.whenReady();
    const card = newCard(1);
    const mutation = [{ kind: 'create', collection: 'cards', key: [card.id], record: card }];
    const script = `
import json, sys
from viewgate import mutate
receipts = [mutate(sys.argv[1], sys.argv[2], "python", "importer", 1, json.loads(sys.argv[3])) for _ in range(2)]
print(json.dumps(receipts))`;
    const origin = stack.socketUrl.replace('ws:', 'http:').replace('/v1/socket', '');
    const folder = fileURLToPath(new URL('../../../client/python', import.meta.url));
    const args = ['-c', script, origin, await stack.personToken('ada', 'lead'), JSON.stringify(mutation)];
    const run = spawnSync('/usr/bin/python3', args, { cwd: folder, encoding: 'utf8' });
    expect(run.stderr).toBe('');
    const [first, second] = JSON.parse(run.stdout) as [{ outcome: string; number: string }, unknown];
    expect(first).toMatchObject({ outcome: 'applied', number: '1', client: 'importer' });
    expect(second).toEqual(first);
    await eventually('it is seen', () => cards.view.get([card.id])?.title === card.title);
  });

  it('case_31_what_is_read_from_jsonb_and_written_back_is_stored_as_it_was', async () => {
    const file = join(stack.folder, 'documents.sql');
    const demo = readFileSync(fileURLToPath(new URL('../../../demo/model.sql', import.meta.url)), 'utf8');
    const documents = `
      create table documents (id bigint primary key, small smallint, meta jsonb);
      create view all_documents as select id, small, meta from documents;
      create policy readers on all_documents using (true);
      create policy work on documents for all using (true) with check (true);`;
    writeFileSync(file, demo + documents);
    await stack.applyModel(file);
    const token = (): Promise<string> => stack.personToken('ada', 'lead');
    const client = connect({ url: stack.socketUrl, token, parse: parseLossless, WebSocket: Breakable as unknown as SocketConstructor });
    clients.push(client);
    const view = client.subscribe<{ id: bigint; small: number | bigint; meta: object }>('all_documents', { space: 'documents' });
    const write = optimistic(writer(client), view, { collection: 'documents', key: ['id'] });
    await view.whenReady();
    const id = 9007199254740993n;
    await write.create({ id, small: 7n, meta: { big: id, price: 1.5, list: [-id], note: 'a' } });
    await eventually('it is there', () => view.has([id]) && !write.isPending([id]));
    await write.update([id], { meta: { ...view.get([id])?.meta, note: 'b' } });
    await eventually('it is changed', () => view.text([id])?.includes('"b"') === true);
    expect(JSON.stringify(view.text([id])).replace(/\s/g, '')).toBe(
      JSON.stringify(`{"id":${id},"small":7,"meta":{"big":${id},"list":[-${id}],"note":"b","price":1.5}}`),
    );
  });
});
