// Goal: an ordered, filtered collection is at every commit what sorting and filtering the whole view would give. Method: random
// commits over a set, with ties, filters that let in and out, replacements, one list over another.

import { describe, expect, it } from 'vitest';
import { Listeners } from '../../../client/src/listeners.js';
import { ordered } from '../../../client/src/order.js';
import type { RecordEvent } from '../../../client/src/protocol.js';
import { RecordSet, type Change, type Item } from '../../../client/src/record_set.js';
import type { Collection, Key } from '../../../client/src/view.js';
import { Random, seeds } from '../support/random.js';

interface Card {
  id: number;
  rank: number;
}

/** A set with listeners: what a view is to an ordered list. */
class Source implements Collection<Card> {
  set = new RecordSet(JSON.parse);
  private sequence = 0;
  private readonly listeners = new Listeners<Change<Card>>();

  get size(): number {
    return this.set.items.size;
  }

  item(key: Key): Item<Card> | undefined {
    return this.set.items.get(String(key)) as Item<Card> | undefined;
  }

  items(): IterableIterator<Item<Card>> {
    return this.set.items.values() as IterableIterator<Item<Card>>;
  }

  subscribe(listener: (change: Change<Card>) => void): () => void {
    return this.listeners.add(listener);
  }

  commit(random: Random, changes: number): void {
    const events = new Map<string, RecordEvent>();
    while (events.size < changes) {
      const id = 1 + random.below(60);
      const key = `[${id}]`;
      const rank = random.below(9);
      const is = this.set.items.has(key);
      if (!is) events.set(key, { kind: 'entered', key, record: `{"id":${id},"rank":${rank}}` });
      else if (random.chance(70)) events.set(key, { kind: 'updated', key, changed: `{"rank":${rank}}` });
      else events.set(key, { kind: random.pick(['deleted', 'removed_from_scope'] as const), key });
    }
    this.listeners.tell(this.set.apply(String(++this.sequence), [...events.values()]) as Change<Card>);
  }

  tellAll(): void {
    this.listeners.tell(this.set.differenceTo(undefined, String(this.sequence)) as Change<Card>);
  }

  replace(random: Random): void {
    const before = this.set;
    this.set = new RecordSet(JSON.parse);
    for (let id = 1; id <= 60; ++id) if (random.chance(40)) this.set.add(`[${id}]`, `{"id":${id},"rank":${random.below(9)}}`);
    this.listeners.tell(this.set.differenceTo(before, String(++this.sequence)) as Change<Card>);
  }
}

const by = (a: Card, b: Card): number => a.rank - b.rank;
const where = (card: Card): boolean => card.rank > 2;

function expected(source: Source, condition: (card: Card) => boolean): string[] {
  const items = [...source.items()].filter((item) => condition(item.record));
  return items.sort((a, b) => by(a.record, b.record) || (a.key < b.key ? -1 : 1)).map((item) => item.text);
}

describe('an ordered collection', () => {
  it('it_is_at_every_commit_what_a_sort_of_the_whole_view_would_give', () => {
    for (const seed of seeds(150)) {
      const random = new Random(seed);
      const source = new Source();
      source.replace(random);
      const some = ordered(source, { by, where });
      const fewer = ordered(some, { by, where: (card) => card.id % 2 === 0 });
      const folded = new Map([...some.items()].map((item) => [item.key, item.text]));
      some.subscribe((change) => {
        for (const item of [...change.left, ...change.deleted]) expect(folded.delete(item.key)).toBe(true);
        for (const item of change.entered) expect(folded.has(item.key)).toBe(false);
        for (const { before } of change.updated) expect(folded.get(before.key)).toBe(before.text);
        for (const item of [...change.entered, ...change.updated.map(({ after }) => after)]) folded.set(item.key, item.text);
      });
      for (let i = 0; i < 60; ++i) {
        if (random.chance(5)) source.replace(random);
        else source.commit(random, 1 + random.below(random.chance(20) ? 30 : 3));
        expect(some.list.map((item) => item.text), `seed ${seed}`).toEqual(expected(source, where));
        expect(fewer.list.map((item) => item.text)).toEqual(expected(source, (card) => where(card) && card.id % 2 === 0));
        expect([...folded.values()].sort()).toEqual(some.list.map((item) => item.text).sort());
        expect(some.size).toBe(some.list.length);
      }
    }
  });

  it('an_order_and_a_condition_that_become_others_lose_no_record_and_show_none_twice', () => {
    for (const seed of seeds(30)) {
      const random = new Random(seed);
      const source = new Source();
      source.replace(random);
      let sign = 1;
      let least = 2;
      const list = ordered(source, { by: (a, b) => sign * (a.rank - b.rank), where: (card) => card.rank > least || card.id % 2 === 0 });
      for (let i = 0; i < 40; ++i) {
        sign = random.pick([1, -1]);
        least = random.below(5);
        source.commit(random, 1 + random.below(3));
        const keys = list.list.map(({ key }) => key);
        expect(new Set(keys).size, `seed ${seed}`).toBe(keys.length);
        for (const item of list.list) expect(item, `seed ${seed}`).toBe(source.item(item.key));
        for (const item of source.items()) if (item.record.id % 2 === 0) expect(keys, `seed ${seed}`).toContain(item.key);
      }
    }
  });

  it('a_set_that_is_told_whole_to_a_list_that_has_an_earlier_one_becomes_the_list', () => {
    for (const seed of seeds(30)) {
      const random = new Random(seed);
      const source = new Source();
      source.replace(random);
      const isMute = { value: true };
      // As a view does that was opened between two commits of one message: what comes before its set is not told.
      const late: Collection<Card> = {
        size: 0,
        item: (key) => source.item(key),
        items: () => source.items(),
        subscribe: (listener) => source.subscribe((change) => isMute.value || listener(change)),
      };
      const list = ordered(late, { by, where });
      const fewer = ordered(list, { by, where: (card) => card.id % 2 === 0 });
      for (let i = 0; i < 3; ++i) source.commit(random, 5);
      isMute.value = false;
      source.tellAll();
      expect(list.list.map((item) => item.text), `seed ${seed}`).toEqual(expected(source, where));
      expect(fewer.list.map((item) => item.text), `seed ${seed}`).toEqual(expected(source, (card) => where(card) && card.id % 2 === 0));
      const same = list.list;
      source.tellAll();
      expect(list.list).toBe(same);
    }
  });

  it('the_list_is_the_same_array_until_something_in_it_changes', () => {
    const random = new Random(3);
    const source = new Source();
    source.replace(random);
    const none = ordered(source, { by, where: (card) => card.rank > 100 });
    const some = ordered(source, { by });
    const [first, same] = [some.list, none.list];
    source.commit(random, 2);
    expect(none.list).toBe(same);
    expect(some.list).not.toBe(first);
    const last = some.list;
    some.close();
    source.commit(random, 2);
    expect(some.list).toBe(last);
  });
});
