// The mutations of one client in one space, in order, from the call until the receipt: what may be sent, what an answer means. Pure:
// sending, storing and time are its caller's.

import { parseLossless, stringify } from './numbers.js';
import { bytesOf, compareSequences, type Sequence } from './protocol.js';
import type { Mutation, MutationError, Receipt, ReceiptText } from './protocol_write.js';

export interface MutateOptions {
  /** Goes into the log, to be found there. */
  readonly requestId?: string;
  /** An object of the application's own, for the log. */
  readonly provenance?: object;
  /** Conflict groups that must not have moved since what the user looked at; otherwise the mutation is rejected as a conflict. */
  readonly guard?: readonly string[];
  /** The commit that the user looked at, for `guard`. */
  readonly seen?: Sequence;
}

/** Why a mutation had no effect: `reason` of a receipt, or the code of an error. */
export class MutationRejected extends Error {
  constructor(
    readonly reason: string,
    message: string,
    /** Of a conflict: the groups that have moved, and to which version. */
    readonly groups: { readonly [group: string]: Sequence } = {},
    readonly receipt?: Receipt,
  ) {
    super(message);
  }
}

/** One message, which becomes one commit. */
export interface Entry {
  number: number;
  /** As they were asked for, to be shown: a Date is one. Not the caller's own objects, which may change while this waits. */
  readonly mutations: readonly Mutation[];
  /** What they said then, to be sent. */
  readonly said: readonly Mutation[];
  readonly options: MutateOptions;
  /** The exact message, once it is settled: a replay must not differ. */
  text: string | undefined;
  /** Its text outlives this page, or need not. */
  isStored: boolean;
  isSent: boolean;
  /** On some connection, maybe of the page before: the server may have it under its number. */
  wasSent: boolean;
  receipt: Receipt | undefined;
  resolve(receipt: Receipt): void;
  reject(error: MutationRejected): void;
}

/** What a page leaves of one entry: the message, or a draft, which has options and is none. @form */
export interface StoredEntry {
  readonly number: string;
  /** In a draft with the bases that they would have now: the next page does not know what this one's receipts said. */
  readonly mutations: readonly Mutation[];
  readonly options?: MutateOptions;
}

/** So many messages may be without an answer. */
const windowSize = 16;

// What else the server bounds in a message: one beyond it costs the connection.
const mutationsMax = 500;
const requestIdBytes = 128;
const provenanceBytes = 1024;
const depthMax = 32;
const membersMax = 4096;

/** What the server would not take however the message is numbered, by name; undefined: nothing. */
export function faultOf(mutations: readonly Mutation[], { requestId, provenance = {}, guard = [] }: MutateOptions): string | undefined {
  if (mutations.length < 1 || mutations.length > mutationsMax) return `mutations: must be 1 to ${mutationsMax}`;
  if (requestId === '' || bytesOf(requestId ?? '') > requestIdBytes) return `requestId: must have 1 to ${requestIdBytes} bytes`;
  if (!Array.isArray(guard)) return 'guard: must be a list of conflict groups';
  const keyless = mutations.findIndex((mutation) => !Array.isArray(mutation.key));
  if (keyless >= 0) return `mutations.${keyless}.key: must be a list of the primary key's values`;
  // What is queued becomes text again and again, and all that comes after it with it: what has none must not get there.
  const mute = muteOf({ mutations }, 'mutations', 3) ?? muteOf({ provenance }, 'provenance', 0);
  if (mute !== undefined) return mute;
  return bytesOf(stringify(provenance)) > provenanceBytes ? `provenance: must have at most ${provenanceBytes} bytes` : undefined;
}

/** What of a member cannot be said in JSON, and why: a circle, a toJSON or getter that throws. Its path is told so many members deep. */
function muteOf(holder: object, name: string, depth: number): string | undefined {
  let value: unknown;
  try {
    value = (holder as Record<string, unknown>)[name];
    stringify(value);
    return undefined;
  } catch (error) {
    for (const member of depth > 0 ? Object.keys(Object(value) as object) : []) {
      const inside = muteOf(value as object, member, depth - 1);
      if (inside !== undefined) return `${name}.${inside}`;
    }
    return `${name}: must be what JSON can say: ${String(error)}`;
  }
}

/** What JSON would say of a value, and of what it says itself (`toJSON`: a decimal, a date) the value. */
function copyOf<T>(value: T): T {
  if (value instanceof Date) return new Date(value) as T;
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf<unknown>(each)])) as T;
}

function saidOf<T>(value: T): T {
  return parseLossless(stringify(value)) as T;
}

/** What is too much in a message for a server that takes so many bytes; undefined: nothing. */
function excessOf(text: string, messageBytes: number): string | undefined {
  const bytes = bytesOf(text);
  if (bytes > messageBytes) return `${bytes} bytes, of at most ${messageBytes}`;
  // In two steps: one expression for both would need a stack as deep as a string has escapes.
  const bare = text.replace(/\\./g, '').replace(/"[^"]*"/g, '');
  const members = bare.split(':').length - 1;
  if (members > membersMax) return `${members} members of objects, of at most ${membersMax}`;
  let depth = 0;
  let deepest = 0;
  for (const bracket of bare.match(/[{}[\]]/g) ?? []) deepest = Math.max(deepest, (depth += /[{[]/.test(bracket) ? 1 : -1));
  return deepest > depthMax ? `${deepest} objects and lists inside each other, of at most ${depthMax}` : undefined;
}

export class WriteQueue {
  readonly entries: Entry[] = [];
  /** Answers that are to come on this connection. */
  private outstanding = 0;
  /** After an error: until all answers are there, nothing is sent, since what followed it was refused as a gap. */
  private isStalled = false;
  /** By record and conflict group: the version that an own mutation gave it. */
  private readonly ownVersions = new Map<string, Sequence>();

  constructor(readonly space: string, public last = 0) {}

  /** Keeps nothing that the caller could change. */
  add({ mutations, options, resolve, reject }: Pick<Entry, 'mutations' | 'options' | 'resolve' | 'reject'>): Entry {
    const { requestId, provenance, guard, seen } = options;
    const known = saidOf({ requestId, provenance, guard, seen }) as MutateOptions;
    const asked = { mutations: copyOf(mutations), said: saidOf(mutations), options: known };
    const state = { text: undefined, isStored: false, isSent: false, wasSent: false, receipt: undefined };
    const added = { ...asked, ...state, number: ++this.last, resolve, reject };
    this.entries.push(added);
    return added;
  }

  get isWaiting(): boolean {
    return this.outstanding > 0;
  }

  /** A new connection, or an answer that did not come: whatever has no receipt is sent again, in order. */
  connected(): void {
    this.outstanding = 0;
    this.isStalled = false;
    for (const entry of this.entries) entry.isSent = false;
  }

  /** Gives up whatever has no receipt. The numbers stay used: some of it may have been taken. */
  forget(): Entry[] {
    this.connected();
    this.ownVersions.clear();
    return this.entries.splice(0);
  }

  /** Entries whose text has become final now, to be stored. What has bases waits for the receipts of all before it. */
  settle(): Entry[] {
    const out: Entry[] = [];
    for (const [i, entry] of this.entries.entries()) {
      if (entry.text !== undefined) continue;
      if (entry.options.guard !== undefined && i > 0) break;
      entry.text = this.textOf(entry);
      out.push(entry);
    }
    return out;
  }

  /**
   * The texts that may be sent now, which count as sent; and the entry behind them that is more than a server takes in one message. That
   * one leaves the queue, and its number stays free, as after a final error; if it was sent to a server that took more, it may be used.
   */
  take(messageBytes: number): { readonly texts: readonly string[]; readonly tooLarge?: readonly [entry: Entry, excess: string] } {
    const texts: string[] = [];
    for (const entry of this.entries) {
      if (this.isStalled || this.outstanding >= windowSize || entry.text === undefined || !entry.isStored) break;
      if (entry.isSent) continue;
      const excess = excessOf(entry.text, messageBytes);
      if (excess !== undefined) {
        this.remove(entry, entry.wasSent);
        return { texts, tooLarge: [entry, excess] };
      }
      entry.isSent = entry.wasSent = true;
      this.outstanding++;
      texts.push(entry.text);
    }
    return { texts };
  }

  /** The entry that the receipt is of, which is not in the queue any more. A receipt may come more than once. */
  received(receipt: Receipt): Entry | undefined {
    const at = this.entries.findIndex((entry) => String(entry.number) === receipt.number);
    const entry = this.entries[at];
    if (entry === undefined) return undefined;
    if (entry.isSent) this.answered();
    this.entries.splice(at, 1);
    entry.receipt = receipt;
    this.noteVersions(receipt);
    return entry;
  }

  /**
   * Not processed. Gives the entry where that is final; its number stays free, so all after it move up by one and have to be
   * settled and stored again.
   */
  refused(error: MutationError): Entry | undefined {
    this.answered();
    const entry = this.entries.find(({ number }) => String(number) === error.number);
    if (entry === undefined) return undefined;
    this.isStalled = this.outstanding > 0;
    for (const each of this.entries) each.isSent = each.isSent && each.number < entry.number;
    if (error.code === 'sequence_gap') {
      // The server lost what it had, or is still ahead of us: it says which number it takes.
      if (error.expected !== undefined && this.entries[0] === entry) this.renumber(Number(error.expected));
      return undefined;
    }
    if (error.code === 'unavailable') return undefined;
    // A number that was used, by whatever, is not free.
    this.remove(entry, error.code === 'sequence_conflict' || error.code === 'receipt_pruned');
    return entry;
  }

  /** To be stored of an entry whose text is not final yet. */
  draftOf(entry: Entry): string {
    const draft: StoredEntry = { number: String(entry.number), mutations: this.withBases(entry), options: entry.options };
    return stringify(draft);
  }

  /** The entry leaves; where its number is free, those after it move up. */
  private remove(entry: Entry, isUsed: boolean): void {
    this.entries.splice(this.entries.indexOf(entry), 1);
    if (!isUsed) this.renumber(entry.number, entry.number);
  }

  private renumber(first: number, from = 0): void {
    let next = first;
    for (const entry of this.entries) {
      if (entry.number < from) continue;
      if (entry.number !== next) Object.assign(entry, { number: next, text: undefined, isStored: false, isSent: false, wasSent: false });
      next++;
    }
    this.last = next - 1;
  }

  private answered(): void {
    this.outstanding = Math.max(0, this.outstanding - 1);
    if (this.outstanding === 0) this.isStalled = false;
  }

  private textOf(entry: Entry): string {
    const { requestId, provenance } = entry.options;
    return stringify({
      type: 'mutate',
      space: this.space,
      number: String(entry.number),
      mutations: this.withBases(entry),
      request_id: requestId,
      provenance,
    });
  }

  private withBases({ said, options }: Entry): readonly Mutation[] {
    const { guard, seen = '0' } = options;
    if (guard === undefined) return said;
    return said.map((mutation) => {
      const base = (group: string): Sequence | undefined => {
        const own = this.ownVersions.get(placeOf(mutation.collection, mutation.key, group)) ?? '0';
        return [own, seen, mutation.bases?.[group] ?? '0'].sort(compareSequences)[2];
      };
      return { ...mutation, bases: Object.fromEntries(guard.map((group) => [group, base(group)])) as Record<string, Sequence> };
    });
  }

  /** Only of groups that this commit moved: what others did to the rest, the user may not have seen. */
  private noteVersions({ text, sequence }: Receipt): void {
    const { acknowledgement = [] } = parseLossless(text) as ReceiptText;
    for (const { collection, key, versions = {} } of acknowledgement) {
      for (const [group, version] of Object.entries(versions)) {
        if (version === sequence) this.ownVersions.set(placeOf(collection, key, group), version);
      }
    }
  }
}

/** A column of a key has one type, so 7, 7n and '7' are one value of it. */
function placeOf(collection: string, key: readonly unknown[], group: string): string {
  return stringify([collection, key.map(String), group]);
}
