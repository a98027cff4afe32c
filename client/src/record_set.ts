// The fold of one view: snapshot + events = the set. It knows no channels and no connection.

import { columnNames, withColumns } from './json.js';
import type { RecordEvent, Sequence } from './protocol.js';

/** One version of one record: it never changes, a later version is another object. */
export class Entry {
  private parsed: unknown;
  private isParsed = false;

  constructor(readonly key: string, readonly text: string) {}

  /** The record, parsed when it is first asked for. */
  value(parse: (text: string) => unknown): unknown {
    if (!this.isParsed) {
      this.parsed = parse(this.text);
      this.isParsed = true;
    }
    return this.parsed;
  }
}

/** What one commit, or one replacement, did to a set. */
export interface SetChange {
  /** `replaced`: the set was read anew (bootstrap or reset); the lists tell the difference to what stood before. */
  readonly kind: 'commit' | 'replaced';
  readonly sequence: Sequence;
  readonly entered: readonly Entry[];
  readonly updated: readonly { readonly before: Entry; readonly after: Entry; readonly columns: readonly string[] }[];
  readonly left: readonly Entry[];
  readonly deleted: readonly Entry[];
}

/**
 * A commit does not fit the set: an event came twice or was skipped. The set is untouched. What to do: read it anew.
 */
export class MisfitError extends Error {}

export class RecordSet {
  readonly entries = new Map<string, Entry>();

  /** Applies a whole commit or, where one event does not fit, nothing. */
  apply(sequence: Sequence, events: readonly RecordEvent[]): SetChange {
    const entered: Entry[] = [];
    const updated: { before: Entry; after: Entry; columns: string[] }[] = [];
    const left: Entry[] = [];
    const deleted: Entry[] = [];
    const seen = new Set<string>();
    for (const event of events) {
      const before = this.entries.get(event.key);
      if (seen.has(event.key)) throw new MisfitError(`commit ${sequence} has two events for ${event.key}`);
      seen.add(event.key);
      if (event.kind === 'entered') {
        if (before !== undefined) throw new MisfitError(`commit ${sequence}: ${event.key} entered and was there`);
        entered.push(new Entry(event.key, event.record));
        continue;
      }
      if (before === undefined) throw new MisfitError(`commit ${sequence}: ${event.key} ${event.kind} and was not there`);
      if (event.kind === 'updated') {
        const after = new Entry(event.key, merge(sequence, before, event.changed));
        updated.push({ before, after, columns: columnNames(event.changed) });
      } else {
        (event.kind === 'deleted' ? deleted : left).push(before);
      }
    }
    for (const entry of left) this.entries.delete(entry.key);
    for (const entry of deleted) this.entries.delete(entry.key);
    for (const entry of entered) this.entries.set(entry.key, entry);
    for (const { after } of updated) this.entries.set(after.key, after);
    return { kind: 'commit', sequence, entered, updated, left, deleted };
  }

  /**
   * What changes for somebody who looked at `old` and now looks at this set. Entries whose text is the same are taken over
   * from `old`, so that a record that did not change stays the same object.
   */
  difference(old: RecordSet, sequence: Sequence): SetChange {
    const entered: Entry[] = [];
    const updated: { before: Entry; after: Entry; columns: string[] }[] = [];
    const left: Entry[] = [];
    for (const [key, after] of this.entries) {
      const before = old.entries.get(key);
      if (before === undefined) entered.push(after);
      else if (before.text === after.text) this.entries.set(key, before);
      else updated.push({ before, after, columns: columnNames(after.text) });
    }
    for (const [key, before] of old.entries) {
      if (!this.entries.has(key)) left.push(before);
    }
    return { kind: 'replaced', sequence, entered, updated, left, deleted: [] };
  }
}

function merge(sequence: Sequence, before: Entry, changed: string): string {
  try {
    return withColumns(before.text, changed);
  } catch (error) {
    throw new MisfitError(`commit ${sequence}: ${before.key}: ${(error as Error).message}`);
  }
}
