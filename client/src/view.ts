// A live view as the application holds it: a collection of records that changes by whole commits.

import type { ClientError } from './actions.js';
import { compact, stringify } from './json.js';
import { compareSequences, type Sequence } from './protocol.js';
import type { Entry, RecordSet, SetChange } from './record_set.js';
import type { Machine } from './state.js';
import { cursorOf, type Subscription } from './subscriptions.js';

/**
 * - `connecting`: nothing was shown yet, and there is no connection
 * - `bootstrapping`: the first set is on its way
 * - `live`: the set is the view, and every commit arrives
 * - `catching_up`: connected, and the set is of an earlier commit
 * - `offline`: the set is the last that was seen; the client comes back by itself
 * - `denied`: the caller may not see the view, or the connection was refused for good
 * - `failed`: the server refuses this subscription; `error` says why
 * - `closed`: by the application
 */
export type ViewStatus =
  | 'connecting'
  | 'bootstrapping'
  | 'live'
  | 'catching_up'
  | 'offline'
  | 'denied'
  | 'failed'
  | 'closed';

/** A record's key: its JSON text (`[42]`), or the values of its primary key in order. */
export type Key = string | readonly unknown[];

/** One version of one record. */
export class Item<T> {
  constructor(private readonly entry: Entry, private readonly parse: (text: string) => unknown) {}

  get key(): string {
    return this.entry.key;
  }

  get record(): T {
    return this.entry.value(this.parse) as T;
  }

  /** The JSON text, byte for byte as PostgreSQL produced the values. */
  get text(): string {
    return this.entry.text;
  }
}

export interface Updated<T> {
  readonly key: string;
  readonly before: Item<T>;
  readonly after: Item<T>;
  readonly columns: readonly string[];
}

/** What one commit did to the view. `replaced`: the set was read anew, and this is the difference to what stood before. */
export interface Change<T> {
  readonly kind: 'commit' | 'replaced';
  readonly sequence: Sequence;
  readonly entered: readonly Item<T>[];
  readonly updated: readonly Updated<T>[];
  /** Still exist, or existed, outside the view. */
  readonly left: readonly Item<T>[];
  readonly deleted: readonly Item<T>[];
}

type Listener<A> = (argument: A) => void;

/** What a view needs of its client. */
export interface ViewHost {
  readonly machine: Machine;
  readonly parse: (text: string) => unknown;
  unsubscribe(number: number): void;
  /** Calls application code: what it throws is reported and stops nothing. */
  guard(call: () => void): void;
}

export class View<T = Record<string, unknown>> implements Iterable<[string, T]> {
  private readonly listeners = new Set<Listener<Change<T>>>();
  private readonly stateListeners = new Set<Listener<View<T>>>();
  private waiters: { resolve(): void; reject(error: Error): void }[] = [];
  private isClosed = false;
  private lastState = '';

  /** Made by `Client.subscribe`. */
  constructor(
    private readonly host: ViewHost,
    private readonly subscription: () => Subscription | undefined,
    private readonly number: number,
    readonly name: string,
    readonly space: string,
  ) {}

  get size(): number {
    return this.set?.entries.size ?? 0;
  }

  has(key: Key): boolean {
    return this.set?.entries.has(keyText(key)) ?? false;
  }

  get(key: Key): T | undefined {
    return this.item(key)?.record;
  }

  /** The record's JSON text. */
  text(key: Key): string | undefined {
    return this.item(key)?.text;
  }

  keys(): IterableIterator<string> {
    return (this.set?.entries ?? new Map<string, Entry>()).keys();
  }

  *values(): IterableIterator<T> {
    for (const item of this.items()) yield item.record;
  }

  *entries(): IterableIterator<[string, T]> {
    for (const item of this.items()) yield [item.key, item.record];
  }

  /** Key, record and text; a record is parsed only if it is looked at. */
  *items(): IterableIterator<Item<T>> {
    const set = this.set;
    if (set === undefined) return;
    for (const entry of set.entries.values()) yield new Item<T>(entry, this.host.parse);
  }

  [Symbol.iterator](): IterableIterator<[string, T]> {
    return this.entries();
  }

  /** Called once per commit that changed this view, when the views of the space stand at that commit. Returns the end of it. */
  subscribe(listener: (change: Change<T>) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Called when `status`, `sequence`, `head` or `error` is another. Returns the end of it. */
  onState(listener: (view: View<T>) => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  get status(): ViewStatus {
    if (this.isClosed) return 'closed';
    const subscription = this.subscription();
    const { phase } = this.host.machine;
    if (phase === 'closed') return 'closed';
    if (phase === 'denied') return 'denied';
    if (subscription === undefined) return 'connecting';
    if (subscription.phase === 'failed') return subscription.error?.code === 'forbidden' ? 'denied' : 'failed';
    const shown = subscription.shown;
    if (phase !== 'online') return shown !== undefined || phase === 'waiting' ? 'offline' : 'connecting';
    if (shown === undefined) return 'bootstrapping';
    const isCurrent = subscription.phase === 'live' && shown === subscription.channel;
    return isCurrent && compareSequences(shown.sequence, shown.liveFrom) >= 0 ? 'live' : 'catching_up';
  }

  /** The commit that the set stands at. */
  get sequence(): Sequence {
    return this.subscription()?.shown?.sequence ?? '0';
  }

  /** The newest commit of the space that this client has heard of. */
  get head(): Sequence {
    const head = this.host.machine.channels.head(this.space);
    return compareSequences(head, this.sequence) > 0 ? head : this.sequence;
  }

  /** Opaque; belongs to exactly the set that is shown. */
  get cursor(): string | undefined {
    const subscription = this.subscription();
    return subscription === undefined ? undefined : cursorOf(subscription);
  }

  /** The last error of this subscription, until it is live again. */
  get error(): ClientError | undefined {
    return this.subscription()?.error;
  }

  /** Resolves when the view was shown; rejects if it never will be. */
  whenReady(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiters.push({ resolve, reject });
      this.settle();
    });
  }

  /** Ends the subscription. The records that were seen last stay readable. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.host.unsubscribe(this.number);
    this.stateChanged();
  }

  /** For the client: something became visible. */
  shown(change: SetChange | undefined): void {
    if (change !== undefined && this.listeners.size > 0) {
      const told = this.changeOf(change);
      for (const listener of [...this.listeners]) this.host.guard(() => listener(told));
    }
    this.stateChanged();
  }

  /** For the client: the status may be another. */
  stateChanged(): void {
    const state = `${this.status} ${this.sequence} ${this.head} ${this.error?.code ?? ''}`;
    if (state === this.lastState) return;
    this.lastState = state;
    this.settle();
    for (const listener of [...this.stateListeners]) this.host.guard(() => listener(this));
  }

  private get set(): RecordSet | undefined {
    return this.subscription()?.shown?.set;
  }

  private item(key: Key): Item<T> | undefined {
    const entry = this.set?.entries.get(keyText(key));
    return entry === undefined ? undefined : new Item<T>(entry, this.host.parse);
  }

  private settle(): void {
    const { status } = this;
    const isOver = status === 'denied' || status === 'failed' || status === 'closed';
    if (!isOver && status !== 'live' && status !== 'catching_up') return;
    const waiters = this.waiters;
    this.waiters = [];
    const why = new Error(this.error?.message ?? `the view ${this.name} is ${status}`);
    for (const waiter of waiters) isOver ? waiter.reject(why) : waiter.resolve();
  }

  private changeOf(change: SetChange): Change<T> {
    const item = (entry: Entry): Item<T> => new Item<T>(entry, this.host.parse);
    return {
      kind: change.kind,
      sequence: change.sequence,
      entered: change.entered.map(item),
      updated: change.updated.map(({ before, after, columns }) => ({
        key: after.key,
        before: item(before),
        after: item(after),
        columns,
      })),
      left: change.left.map(item),
      deleted: change.deleted.map(item),
    };
  }
}

function keyText(key: Key): string {
  return typeof key === 'string' ? compact(key) : stringify(key);
}
