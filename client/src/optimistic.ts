// A view with the mutations over it that have no receipt yet: what the user did shows at once, and gives way to what the server
// made of it in the moment when that is shown.

import { Listeners } from './listeners.js';
import type { AnyModel, TableNames, TableTypes, Untyped, WritesOf } from './model.js';
import { stringify } from './numbers.js';
import type { Mutation, Receipt } from './protocol_write.js';
import { Item, type Change, type Updated } from './record_set.js';
import { keyText, type Collection, type Key, type View } from './view.js';
import type { MutateOptions } from './write_queue.js';
import type { Writer } from './writer.js';

export interface OptimisticOptions<T, C extends string = string> {
  /** The managed table that the view selects from. */
  readonly collection: C;
  /** The columns of its primary key, in order. */
  readonly key: readonly (keyof T & string)[];
  /** Whether the view would hold the record: where it would not, a change takes it away at once. Default: it would. */
  readonly includes?: (record: T) => boolean;
}

/** `W`: what may be written; without a model anything that looks like the view's records. */
export class Optimistic<T extends object, W extends TableTypes = WritesOf<T, Untyped, string>> implements Collection<T> {
  private readonly listeners = new Listeners<Change<T>>();
  /** By key: what is seen instead of the view's record; undefined: nothing. */
  private over = new Map<string, Item<T> | undefined>();
  private readonly ends: (() => void)[];
  /** The view's columns, as soon as a record of it was seen. */
  private columns: readonly string[] = [];
  /** Which columns of the key are numbers, as soon as a key of the view was seen. */
  private numeric: readonly boolean[] | undefined;

  /** Made by `optimistic`. */
  constructor(
    private readonly writer: Writer,
    readonly view: View<T>,
    private readonly options: OptimisticOptions<T>,
  ) {
    this.over = this.overlay();
    this.ends = [
      writer.watch(view),
      view.subscribe((change) => this.follow(change)),
      writer.onChange(() => this.follow(undefined)),
    ];
  }

  get size(): number {
    let size = this.view.size;
    for (const [key, item] of this.over) size += Number(item !== undefined) - Number(this.view.has(key));
    return size;
  }

  item(key: Key): Item<T> | undefined {
    const text = this.textOf(key);
    return this.over.has(text) ? this.over.get(text) : this.view.item(text);
  }

  get(key: Key): T | undefined {
    return this.item(key)?.record;
  }

  *items(): IterableIterator<Item<T>> {
    for (const item of this.view.items()) if (!this.over.has(item.key)) yield item;
    for (const item of this.over.values()) if (item !== undefined) yield item;
  }

  /** Whether what is seen under the key is not what the server has confirmed. */
  isPending(key: Key): boolean {
    return this.over.has(this.textOf(key));
  }

  /** As a view's; also called when a mutation shows, or is taken back. */
  subscribe(listener: (change: Change<T>) => void): () => void {
    return this.listeners.add(listener);
  }

  create(record: T & W['insert'], options?: MutateOptions): Promise<Receipt> {
    return this.mutate({ kind: 'create', ...this.target(this.keyOf(record)), record }, options);
  }

  put(record: T & W['insert'], options?: MutateOptions): Promise<Receipt> {
    return this.mutate({ kind: 'put', ...this.target(this.keyOf(record)), record }, options);
  }

  update(key: W['key'], changed: W['update'], options?: MutateOptions): Promise<Receipt> {
    return this.mutate({ kind: 'update', ...this.target(key), changed }, options);
  }

  delete(key: W['key'], options?: MutateOptions): Promise<Receipt> {
    return this.mutate({ kind: 'delete', ...this.target(key) }, options);
  }

  /** Shows the view no longer; what is on its way is sent all the same. */
  close(): void {
    for (const end of this.ends) end();
  }

  private mutate(mutation: Mutation, options: MutateOptions = {}): Promise<Receipt> {
    return this.writer.mutate(this.view.space, [mutation], { seen: this.view.sequence, ...options });
  }

  private target(key: readonly unknown[]): { collection: string; key: readonly unknown[] } {
    return { collection: this.options.collection, key };
  }

  private keyOf(record: T): unknown[] {
    return this.options.key.map((name) => record[name]);
  }

  /**
   * The key's text as the view has it. A column whose values are numbers in the view's keys may be given as text, too: an int8 that a
   * double cannot hold.
   */
  private textOf(key: Key): string {
    if (typeof key === 'string') return keyText(key);
    this.numeric ??= numericColumns(this.view.keys().next().value as string | undefined);
    return keyText(key.map((value, i) => (this.numeric?.[i] && isInteger(value) ? BigInt(value) : value)));
  }

  private overlay(): Map<string, Item<T> | undefined> {
    const [known] = this.view.items();
    if (known !== undefined) this.columns = Object.keys(known.record);
    const records = new Map<string, T | undefined>();
    for (const { space, mutation } of this.writer.pending()) {
      if (space !== this.view.space || mutation.collection !== this.options.collection) continue;
      const key = this.textOf(mutation.key);
      const before = records.has(key) ? records.get(key) : this.view.get(key);
      records.set(key, this.applied(before, mutation));
    }
    const out = new Map<string, Item<T> | undefined>();
    for (const [key, record] of records) out.set(key, this.itemOf(key, record));
    return out;
  }

  private applied(before: T | undefined, mutation: Mutation): T | undefined {
    switch (mutation.kind) {
      case 'delete':
        return undefined;
      case 'update':
        return before && { ...before, ...mutation.changed };
      default: {
        const key = Object.fromEntries(this.options.key.map((name, i) => [name, before?.[name] ?? mutation.key[i]]));
        const absent = Object.fromEntries((before ? Object.keys(before) : this.columns).map((name) => [name, null]));
        return { ...absent, ...mutation.record, ...key } as T;
      }
    }
  }

  /** The same object as before where nothing is different, so that what is drawn of it stays. */
  private itemOf(key: string, record: T | undefined): Item<T> | undefined {
    if (record === undefined || this.options.includes?.(record) === false) return undefined;
    for (const known of [this.over.get(key), this.view.item(key)]) {
      if (known !== undefined && isSame(known.record, record)) return known;
    }
    return new Item<T>(key, stringify(record), () => record);
  }

  /** Tells what is different for whoever looks here; `base`: what the view has just told. */
  private follow(base: Change<T> | undefined): void {
    const before = new Map<string, Item<T> | undefined>();
    for (const item of base?.entered ?? []) before.set(item.key, undefined);
    for (const item of [...(base?.left ?? []), ...(base?.deleted ?? [])]) before.set(item.key, item);
    for (const { key, before: item } of base?.updated ?? []) before.set(key, item);
    const old = this.over;
    this.over = this.overlay();
    for (const key of this.over.keys()) if (!before.has(key)) before.set(key, this.view.item(key));
    for (const [key, item] of old) before.set(key, item);

    const entered: Item<T>[] = [];
    const updated: Updated<T>[] = [];
    const left: Item<T>[] = [];
    const deleted: Item<T>[] = [];
    const gone = new Set(base?.deleted.map(({ key }) => key));
    for (const [key, was] of before) {
      const is = this.item(key);
      if (was === is) continue;
      if (was === undefined && is !== undefined) entered.push(is);
      else if (was !== undefined && is === undefined) (gone.has(key) ? deleted : left).push(was);
      else if (was !== undefined && is !== undefined) updated.push({ key, before: was, after: is, columns: differences(was, is) });
    }
    // A set of the view's that is told whole is told on, also where nothing is different: a list may have looked before it.
    if (base?.kind !== 'replaced' && entered.length + updated.length + left.length + deleted.length === 0) return;
    this.listeners.tell({ kind: 'commit', sequence: this.view.sequence, ...base, entered, updated, left, deleted });
  }
}

function numericColumns(key: string | undefined): readonly boolean[] | undefined {
  return key === undefined ? undefined : (JSON.parse(key) as unknown[]).map((value) => typeof value === 'number');
}

function isInteger(value: unknown): value is string {
  return typeof value === 'string' && /^-?(0|[1-9]\d*)$/.test(value);
}

function isSame(a: object, b: object): boolean {
  return a === b || stringify(sorted(a)) === stringify(sorted(b));
}

function sorted(record: object): unknown {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

function differences<T extends object>(was: Item<T>, is: Item<T>): string[] {
  const before = was.record as Record<string, unknown>;
  return Object.entries(is.record).flatMap(([name, value]) => (name in before && stringify(value) === stringify(before[name]) ? [] : [name]));
}

/** `optimistic(writer, view, { collection: 'cards', key: ['id'] })` */
export function optimistic<T extends object, M extends AnyModel = Untyped, C extends TableNames<M> = TableNames<M>>(
  writer: Writer<M>,
  view: View<T>,
  options: OptimisticOptions<T, C>,
): Optimistic<T, WritesOf<T, M, C>> {
  return new Optimistic(writer, view, options);
}
