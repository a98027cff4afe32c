// A collection in order, and only what a condition admits, kept so with every commit: a change costs the search of its place,
// not a sort.

import { columnNames } from './json.js';
import { Listeners } from './listeners.js';
import type { Change, Item, Updated } from './record_set.js';
import { keyText, type Collection, type Key } from './view.js';

export interface OrderOptions<T> {
  /** Negative: the first one comes first. Records that are equal to it stand in the order of their keys. */
  readonly by?: (a: T, b: T) => number;
  readonly where?: (record: T) => boolean;
}

/** What a change is for somebody who sees only records that `admits` lets pass, and has seen those that `had` says. */
function filtered<T>(change: Change<T>, admits: (item: Item<T>) => boolean, had: (item: Item<T>) => boolean): Change<T> {
  const entered = change.entered.filter(admits);
  const left = change.left.filter(had);
  const updated: Updated<T>[] = [];
  for (const each of change.updated) {
    const was = had(each.before);
    const is = admits(each.after);
    if (was && is) updated.push(each);
    else if (was) left.push(each.before);
    else if (is) entered.push(each.after);
  }
  return { ...change, entered, updated, left, deleted: change.deleted.filter(had) };
}

export function isEmpty<T>({ entered, updated, left, deleted }: Change<T>): boolean {
  return entered.length + updated.length + left.length + deleted.length === 0;
}

export class Ordered<T> implements Collection<T> {
  private readonly sorted: Item<T>[] = [];
  private readonly byKey = new Map<string, Item<T>>();
  private readonly listeners = new Listeners<Change<T>>();
  private readonly stop: () => void;
  private copy: readonly Item<T>[] | undefined;

  /** Made by `ordered`. */
  constructor(private readonly source: Collection<T>, private readonly options: OrderOptions<T>) {
    this.add([...source.items()].filter(this.admits));
    this.stop = source.subscribe((change) => this.follow(change));
  }

  get size(): number {
    return this.sorted.length;
  }

  /** All of it in order; another array after each commit that changed it, and the same one until then. */
  get list(): readonly Item<T>[] {
    return (this.copy ??= this.sorted.slice());
  }

  /** Those between two places, for a list that draws only what is seen: costs what it gives, however large the collection is. */
  slice(start: number, end: number): Item<T>[] {
    return this.sorted.slice(start, end);
  }

  item(key: Key): Item<T> | undefined {
    return this.byKey.get(keyText(key));
  }

  items(): IterableIterator<Item<T>> {
    return this.list[Symbol.iterator]();
  }

  /** Hears each commit that changed something here. A record that the condition lets in enters, one that it lets go leaves. */
  subscribe(listener: (change: Change<T>) => void): () => void {
    return this.listeners.add(listener);
  }

  /** Follows its source no longer. */
  close(): void {
    this.stop();
  }

  private readonly admits = (item: Item<T>): boolean => this.options.where?.(item.record) ?? true;

  private readonly compare = (a: Item<T>, b: Item<T>): number =>
    this.options.by?.(a.record, b.record) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

  private follow(all: Change<T>): void {
    const change = all.kind === 'replaced' ? this.replacedAs(all) : filtered(all, this.admits, ({ key }) => this.byKey.has(key));
    if (isEmpty(change)) return;
    this.copy = undefined;
    this.remove([...change.left, ...change.deleted, ...change.updated.map(({ before }) => before)]);
    this.add([...change.entered, ...change.updated.map(({ after }) => after)]);
    this.listeners.tell(change);
  }

  /** What is different here. A source that was looked at before it told of its set tells all of it, also of what is here, or was. */
  private replacedAs(all: Change<T>): Change<T> {
    const is = new Map([...this.source.items()].filter(this.admits).map((item) => [item.key, item]));
    const updated: Updated<T>[] = [];
    for (const [key, after] of is) {
      const before = this.byKey.get(key);
      if (before !== undefined && before !== after) updated.push({ key, before, after, columns: columnNames(after.text) });
    }
    const entered = [...is.values()].filter(({ key }) => !this.byKey.has(key));
    const left = [...this.byKey.values()].filter(({ key }) => !is.has(key));
    return { ...all, entered, updated, left, deleted: [] };
  }

  private add(items: readonly Item<T>[]): void {
    for (const item of items) this.byKey.set(item.key, item);
    if (items.length * 8 > this.sorted.length) {
      for (const item of items) this.sorted.push(item);
      this.sorted.sort(this.compare);
      return;
    }
    for (const item of items) this.sorted.splice(this.place(item), 0, item);
  }

  private remove(items: readonly Item<T>[]): void {
    const found = items.map(({ key }) => this.byKey.get(key) as Item<T>);
    for (const { key } of items) this.byKey.delete(key);
    if (items.length * 8 > this.sorted.length) {
      const gone = new Set(items.map(({ key }) => key));
      const rest = this.sorted.filter(({ key }) => !gone.has(key));
      this.sorted.length = 0;
      for (const item of rest) this.sorted.push(item);
      return;
    }
    for (const item of found) {
      const at = this.place(item);
      // Where it is not, the order is another than it was: the list loses the right one all the same.
      this.sorted.splice(this.sorted[at] === item ? at : this.sorted.indexOf(item), 1);
    }
  }

  /** Where it is, or would be. */
  private place(item: Item<T>): number {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(this.sorted[middle] as Item<T>, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** `ordered(view, { by: (a, b) => a.due - b.due, where: (card) => card.list === 'doing' })` */
export function ordered<T>(source: Collection<T>, options: OrderOptions<T> = {}): Ordered<T> {
  return new Ordered(source, options);
}
