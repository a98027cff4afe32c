// The fold of one view: snapshot + events = the set. It knows no channels and no connection.

import { columnNames, withColumns } from './json.js';
import type { RecordEvent, Sequence } from './protocol.js';

export type Parse = (text: string) => unknown;

/** One version of one record: it never changes, a later version is another object. */
export class Item<T = unknown> {
  private parsed: T | undefined;

  constructor(
    /** The key's JSON text: `[42]`. */
    readonly key: string,
    /** The record's JSON text, byte for byte as PostgreSQL produced the values. */
    readonly text: string,
    private readonly parse: Parse,
  ) {}

  /** The record, parsed when it is first asked for, and the same object from then on. */
  get record(): T {
    return (this.parsed ??= this.parse(this.text) as T);
  }
}

export interface Updated<T> {
  readonly key: string;
  readonly before: Item<T>;
  readonly after: Item<T>;
  readonly columns: readonly string[];
}

/** What is known of a commit besides its records. */
export interface Origin {
  /** When its transaction began: RFC 3339 text in UTC, to the microsecond. */
  readonly at?: string | undefined;
  /** With which a back-end has signed its transaction (`viewgate.tag`). */
  readonly requestId?: string | undefined;
}

/** What one commit, or one replacement, did to a set. Only a commit has an origin. */
export interface Change<T = unknown> extends Origin {
  /** `replaced`: the set was read anew (bootstrap or reset); the lists tell the difference to what stood before. */
  readonly kind: 'commit' | 'replaced';
  readonly sequence: Sequence;
  readonly entered: readonly Item<T>[];
  readonly updated: readonly Updated<T>[];
  /** Still exist, or existed, outside the view. */
  readonly left: readonly Item<T>[];
  readonly deleted: readonly Item<T>[];
}

export class RecordSet {
  readonly items = new Map<string, Item>();

  constructor(private readonly parse: Parse) {}

  /** Puts a record; false where its key is taken. */
  add(key: string, text: string): boolean {
    if (this.items.has(key)) return false;
    this.items.set(key, new Item(key, text, this.parse));
    return true;
  }

  /**
   * Applies a whole commit. Where an event came twice or was skipped it throws a SyntaxError, and nothing is applied. What to do: read
   * the set anew.
   */
  apply(sequence: Sequence, events: readonly RecordEvent[], origin?: Origin): Change {
    const change = { entered: [] as Item[], updated: [] as Updated<unknown>[], left: [] as Item[], deleted: [] as Item[] };
    const seen = new Set<string>();
    for (const event of events) {
      const { key, kind } = event;
      const before = this.items.get(key);
      if (seen.has(key) || (before === undefined) !== (kind === 'entered')) {
        throw new SyntaxError(`commit ${sequence} does not fit: ${kind} ${key}`);
      }
      seen.add(key);
      if (event.kind === 'entered') change.entered.push(new Item(key, event.record, this.parse));
      else if (event.kind === 'updated') {
        const after = new Item(key, withColumns((before as Item).text, event.changed), this.parse);
        change.updated.push({ key, before: before as Item, after, columns: columnNames(event.changed) });
      }
      else change[event.kind === 'deleted' ? 'deleted' : 'left'].push(before as Item);
    }
    for (const { key } of [...change.left, ...change.deleted]) this.items.delete(key);
    for (const item of change.entered) this.items.set(item.key, item);
    for (const { key, after } of change.updated) this.items.set(key, after);
    return { kind: 'commit', sequence, ...origin, ...change };
  }

  /**
   * What changes for somebody who looked at `old` and now looks at this set. Items whose text is the same are taken over
   * from `old`, so that a record that did not change stays the same object.
   */
  differenceTo(old: RecordSet | undefined, sequence: Sequence): Change {
    const entered: Item[] = [];
    const updated: Updated<unknown>[] = [];
    const left: Item[] = [];
    for (const [key, after] of this.items) {
      const before = old?.items.get(key);
      if (!before) entered.push(after);
      else if (before.text === after.text) this.items.set(key, before);
      else updated.push({ key, before, after, columns: columnNames(after.text) });
    }
    for (const [key, before] of old?.items ?? []) if (!this.items.has(key)) left.push(before);
    return { kind: 'replaced', sequence, entered, updated, left, deleted: [] };
  }
}
