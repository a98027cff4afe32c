// A live view as the application holds it: a collection of records that changes by whole commits.

import type { ClientError } from './host.js';
import { compact } from './json.js';
import { Listeners } from './listeners.js';
import { compareSequences, encode, laterOf, type Sequence } from './protocol.js';
import type { Change, Item } from './record_set.js';
import type { Machine } from './state.js';
import { cursorOf, type Subscription } from './subscriptions.js';

/**
 * - `connecting`: there is no connection yet; a stored set may be there to see
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

/** What can be looked at and followed: a view, or something made of one. */
export interface Collection<T> {
  readonly size: number;
  item(key: Key): Item<T> | undefined;
  items(): IterableIterator<Item<T>>;
  subscribe(listener: (change: Change<T>) => void): () => void;
}

export class View<T = Record<string, unknown>> implements Collection<T>, Iterable<[string, T]> {
  private readonly listeners = new Listeners<Change<T>>();
  private readonly stateListeners = new Listeners<View<T>>();
  private waiters: { resolve(): void; reject(error: Error): void }[] = [];
  private isClosed = false;
  private lastState = '';
  private isTold = false;

  /** Made by `Client.subscribe`. @internal */
  constructor(
    private readonly machine: Machine,
    private readonly followed: Subscription,
    private readonly release: (view: View<T>) => void,
  ) {
    // What is there already is told on a turn of its own, when whoever wants it listens, and nothing before it.
    void Promise.resolve().then(() => {
      this.isTold = true;
      const { shown } = this.followed;
      if (shown && !this.isClosed) this.shown(shown.set.differenceTo(undefined, shown.sequence));
    });
  }

  get name(): string {
    return this.followed.view;
  }

  get space(): string {
    return this.followed.space;
  }

  get size(): number {
    return this.all.size;
  }

  has(key: Key): boolean {
    return this.item(key) !== undefined;
  }

  get(key: Key): T | undefined {
    return this.item(key)?.record;
  }

  /** The record's JSON text. */
  text(key: Key): string | undefined {
    return this.item(key)?.text;
  }

  /** Key, record and text of one record; the same object until the record changes. */
  item(key: Key): Item<T> | undefined {
    return this.all.get(keyText(key));
  }

  keys(): IterableIterator<string> {
    return this.all.keys();
  }

  *values(): IterableIterator<T> {
    for (const item of this.items()) yield item.record;
  }

  *entries(): IterableIterator<[string, T]> {
    for (const item of this.items()) yield [item.key, item.record];
  }

  /** A record is parsed only if it is looked at. */
  items(): IterableIterator<Item<T>> {
    return this.all.values();
  }

  [Symbol.iterator](): IterableIterator<[string, T]> {
    return this.entries();
  }

  /**
   * Called once per commit that changed this view, when the views of the space stand at that commit; a
   * listener that is there before the set hears all of it first, as a replacement of nothing. Returns the end of it.
   */
  subscribe(listener: (change: Change<T>) => void): () => void {
    return this.listeners.add(listener);
  }

  /** Called when `status`, `sequence`, `head` or `error` is another. Returns the end of it. */
  onState(listener: (view: View<T>) => void): () => void {
    return this.stateListeners.add(listener);
  }

  get status(): ViewStatus {
    const { phase, shown, error, channel } = this.followed;
    const { status } = this.machine;
    if (this.isClosed) return 'closed';
    if (status === 'closed' || status === 'denied') return status;
    if (phase === 'failed') return error?.code === 'forbidden' ? 'denied' : phase;
    if (status !== 'online') return status;
    if (!shown) return 'bootstrapping';
    const isCurrent = phase === 'live' && shown === channel;
    return isCurrent && compareSequences(shown.sequence, shown.liveFrom) >= 0 ? 'live' : 'catching_up';
  }

  /** The commit that the set stands at. */
  get sequence(): Sequence {
    return this.followed.shown?.sequence ?? '0';
  }

  /** The newest commit of the space that this client has heard of. */
  get head(): Sequence {
    return laterOf(this.machine.allChannels.headOf(this.space), this.sequence);
  }

  /** Opaque; belongs to exactly the set that is shown. */
  get cursor(): string | undefined {
    return cursorOf(this.followed);
  }

  /** The last error of this subscription, until it is live again. */
  get error(): ClientError | undefined {
    return this.followed.error;
  }

  /** Resolves when there is a set to see, be it a stored one; rejects if there never will be: `code` says why, as that of `error`, or the status. */
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
    this.release(this);
    this.stateChanged();
  }

  /** For the client: something became visible. @internal */
  shown(change: Change | undefined): void {
    // What is hidden is told before its turn, too: somebody may have looked already.
    if (change && (this.isTold || !this.followed.shown)) this.listeners.tell(change as Change<T>);
    this.stateChanged();
  }

  /** For the client: the status may be another. @internal */
  stateChanged(): void {
    const state = `${this.status} ${this.sequence} ${this.head} ${this.error?.code}`;
    if (state === this.lastState) return;
    this.lastState = state;
    this.settle();
    this.stateListeners.tell(this);
  }

  private get all(): Map<string, Item<T>> {
    return (this.followed.shown?.set.items ?? new Map()) as Map<string, Item<T>>;
  }

  private settle(): void {
    const { status, error } = this;
    const isOver = /denied|failed|closed/.test(status);
    const isReady = this.followed.shown && status !== 'closed';
    if (!isReady && !isOver) return;
    const why = Object.assign(new Error(error?.message ?? `the view ${this.name} is ${status}`), { code: error?.code ?? status });
    for (const { resolve, reject } of this.waiters.splice(0)) isReady ? resolve() : reject(why);
  }
}

/** The key's JSON text, as the server writes it but for blanks. */
export function keyText(key: Key): string {
  if (typeof key === 'string') return compact(key);
  return `[${key.map((value) => (typeof value === 'bigint' ? value : encode(value))).join()}]`;
}
