// What has to be written so that a stored set and its cursor are those that are shown: pure, without a database.

import type { Row } from './indexed_db.js';
import type { Change } from './record_set.js';
import type { Subscription } from './subscriptions.js';

/** Of one view, since it was written last. */
export interface Write {
  readonly subscription: Subscription;
  /** The stored set is replaced; otherwise `records` is the difference to it. */
  whole: boolean;
  /** Text by key; undefined: gone. */
  readonly records: Map<string, string | undefined>;
  /** Of the set with these records; undefined: nothing is shown any more. */
  cursor: Cursor | undefined;
  /** What is stored may not be seen any more: it goes, whether or not what came after it can be stored. */
  hides: boolean;
}

type Cursor = Pick<Row, 'context' | 'position' | 'sequence'>;

export interface Decided {
  readonly whole: boolean;
  readonly records: Iterable<readonly [key: string, text: string | undefined]>;
  /** Undefined: the view is stored no longer. */
  readonly row: Row | undefined;
}

/** A page that wrote in the last so many milliseconds is the one that writes. */
const leaseTime = 10_000;
/** A storage that fails so often in a row has more wrong with it than its room. */
const hidesAtMost = 4;

export class ViewWrites {
  /** Names this page among those that use the storage. */
  private readonly page = String(Math.random());
  private writes = new Map<string, Write>();
  /** Positions as they were read or written last: what is stored is exactly the set that was shown there. */
  private readonly known = new Map<string, string>();
  private readonly failures = new Map<string, number>();

  get size(): number {
    return this.writes.size;
  }

  loaded(id: string, row: Row): void {
    this.known.set(id, row.position);
  }

  add(id: string, subscription: Subscription, change: Change | undefined): void {
    const isThere = subscription.shown !== undefined && change?.kind === 'replaced' && this.known.get(id) === subscription.shown.position;
    const cursor = cursorNow(subscription);
    // A set that was read from here needs no writing, and one that could not be written twice is left alone, unless it has to go.
    if ((isThere && !this.writes.has(id)) || (cursor !== undefined && this.failuresOf(id) > 1)) return;
    const fresh: Write = { subscription, whole: !this.known.has(id), records: new Map(), cursor, hides: false };
    const write = this.writes.get(id) ?? fresh;
    this.writes.set(id, write);
    write.cursor = cursor;
    write.hides ||= cursor === undefined;
    if (change === undefined) return;
    if (change.kind === 'replaced') write.whole = true;
    for (const item of [...change.left, ...change.deleted]) write.records.set(item.key, undefined);
    for (const item of change.entered) write.records.set(item.key, item.text);
    for (const { key, after } of change.updated) write.records.set(key, after.text);
  }

  take(): Map<string, Write> {
    const taken = this.writes;
    this.writes = new Map();
    return taken;
  }

  /** `stored`: what the storage has now, maybe of another page. Undefined: leave it as it is. */
  decide(id: string, write: Write, stored: Row | undefined, now: number): Decided | undefined {
    const isOurs = stored === undefined || stored.page === this.page || now - stored.at > leaseTime;
    const whole = write.whole || stored === undefined || stored.position !== this.known.get(id);
    // A set that is written whole is the one of this moment: what waits to be written is in it.
    const isOnlyToGo = write.hides && this.failuresOf(id) > 0;
    const cursor = isOnlyToGo ? undefined : whole ? cursorNow(write.subscription) : write.cursor;
    if (whole) this.writes.delete(id);
    if (cursor === undefined || !isOurs) this.known.delete(id);
    else this.known.set(id, cursor.position);
    if (cursor === undefined) return { whole: true, records: [], row: undefined };
    if (!isOurs) return undefined;
    return { whole, records: whole ? textsOf(write.subscription) : write.records, row: { ...cursor, page: this.page, at: now } };
  }

  written(batch: ReadonlyMap<string, Write>): void {
    for (const id of batch.keys()) this.failures.delete(id);
  }

  /** Nothing of the batch is stored: the next time all of it is. What has to go is tried again, by itself: that needs no room. */
  failed(batch: ReadonlyMap<string, Write>): void {
    for (const [id, write] of batch) {
      const failures = this.failuresOf(id) + 1;
      this.known.delete(id);
      this.failures.set(id, failures);
      if (write.hides && failures <= hidesAtMost) this.writes.set(id, { ...write, ...this.writes.get(id), hides: true });
    }
  }

  private failuresOf(id: string): number {
    return this.failures.get(id) ?? 0;
  }

  forget(): void {
    this.writes.clear();
    this.known.clear();
  }
}

function cursorNow({ shown, shownContext: context }: Subscription): Cursor | undefined {
  const { position, sequence } = shown ?? {};
  return context === undefined || position === undefined || sequence === undefined ? undefined : { context, position, sequence };
}

function* textsOf({ shown }: Subscription): Iterable<readonly [string, string]> {
  for (const item of shown?.set.items.values() ?? []) yield [item.key, item.text];
}
