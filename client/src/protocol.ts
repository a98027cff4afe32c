// Every message of viewgate.v1, as gateway/protocol.hpp has it, and the reading and writing of their JSON text. Reading is
// strict about what this client relies on and blind to what it does not know (a server may add members and documents).

import { compact, eachElement, eachMember, skipBlanks, stringify } from './json.js';

export const protocolVersion = 1;
export const subprotocol = 'viewgate.v1';

/** A commit's number in its space: a decimal string. Sent back only as the base of a mutation. */
export type Sequence = string;

/** Orders sequences without turning them into doubles. */
export function compareSequences(a: Sequence, b: Sequence): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

export type ResetReason =
  | 'history_pruned'
  | 'history_diverged'
  | 'view_changed'
  | 'authorization_changed'
  | 'state_unavailable';

export type ErrorCode =
  | 'bad_request'
  | 'invalid_value'
  | 'invalid_view'
  | 'duplicate_subscription'
  | 'too_many_subscriptions'
  | 'forbidden'
  | 'cursor_invalid'
  | 'sequence_conflict'
  | 'sequence_gap'
  | 'not_writable'
  | 'receipt_pruned'
  | 'unavailable'
  | 'bootstrap_timeout';

export type NoticeKind = 'auth_expiring' | 'degraded' | 'restored' | 'draining';

export type EventKind = 'entered' | 'updated' | 'removed_from_scope' | 'deleted';

/** A record of a snapshot: the key's text (blanks removed) and the record's text as it came. */
export interface SnapshotRecord {
  readonly key: string;
  readonly record: string;
}

/** One event of a commit; `record` and `changed` are JSON text. */
export type RecordEvent =
  | { readonly kind: 'entered'; readonly key: string; readonly record: string }
  | { readonly kind: 'updated'; readonly key: string; readonly changed: string; readonly groups?: readonly string[] }
  | { readonly kind: 'removed_from_scope' | 'deleted'; readonly key: string };

// Client messages.

export interface Hello {
  readonly type: 'hello';
  readonly protocol: number;
  readonly token: string;
  /** Under which this client's mutations are numbered. */
  readonly client?: string;
}
export interface Subscribe {
  readonly type: 'subscribe';
  readonly id: string;
  readonly space: string;
  readonly view: string;
  readonly params?: object;
  readonly cursor?: string;
}
export interface Unsubscribe {
  readonly type: 'unsubscribe';
  readonly id: string;
}
export interface Refresh {
  readonly type: 'refresh';
  readonly token: string;
}
interface MutationTarget {
  readonly collection: string;
  /** The primary key's columns, in the order of the key. */
  readonly key: readonly unknown[];
  /** By conflict group: the sequence that the client has seen. */
  readonly bases?: { readonly [group: string]: Sequence };
}
export type Mutation =
  | ({ readonly kind: 'create' | 'put'; readonly record: object } & MutationTarget)
  | ({ readonly kind: 'update'; readonly changed: object } & MutationTarget)
  | ({ readonly kind: 'delete' } & MutationTarget);
/** One commit: all its mutations, or none. */
export interface Mutate {
  readonly type: 'mutate';
  readonly space: string;
  /** 1, 2, 3 … for each client and space: a decimal string. */
  readonly number: string;
  readonly mutations: readonly Mutation[];
  readonly request_id?: string;
  readonly provenance?: object;
}
/** Asks for the receipts of this client whose number is above `after`. */
export interface AskReceipts {
  readonly type: 'receipts';
  readonly space: string;
  readonly after: string;
}
export interface Pong {
  readonly type: 'pong';
}
export type ClientMessage = Hello | Subscribe | Unsubscribe | Refresh | Mutate | AskReceipts | Pong;

// Server documents.

export interface Welcome {
  readonly type: 'welcome';
  readonly principal: string;
  /** Seconds until the token's exp. */
  readonly expires_in: number;
  /** Seconds; twice as long without a document means a dead link. */
  readonly heartbeat: number;
  readonly message_bytes: number;
  readonly subscriptions: number;
}
export interface Notice {
  readonly type: 'notice';
  readonly kind: NoticeKind | string;
  readonly in?: number;
}
export interface Subscribed {
  readonly type: 'subscribed';
  readonly id: string;
  readonly channel: string;
  readonly context: string;
  readonly resumed: boolean;
  readonly same_as?: string;
}
export interface Snapshot {
  readonly type: 'snapshot';
  readonly channel: string;
  readonly records: readonly SnapshotRecord[];
}
export interface Ready {
  readonly type: 'ready';
  readonly channel: string;
  readonly sequence: Sequence;
  readonly position: string;
  readonly head: Sequence;
}
export interface Commit {
  readonly type: 'commit';
  readonly channel: string;
  readonly sequence: Sequence;
  /** Absent in all parts but the last. */
  readonly position?: string;
  readonly events: readonly RecordEvent[];
  readonly last: boolean;
}
export interface Progress {
  readonly type: 'progress';
  readonly channel: string;
  readonly sequence: Sequence;
  readonly position: string;
}
export interface At {
  readonly type: 'at';
  readonly space: string;
  readonly sequence: Sequence;
}
/** Of one mutation of this client. `text` is the receipt as it came: the same bytes at each replay. */
export interface Receipt {
  readonly client: string;
  readonly number: string;
  readonly sequence: Sequence;
  readonly outcome: 'applied' | 'no_op' | 'rejected' | string;
  readonly reason?: string;
  readonly text: string;
}
export interface Receipts {
  readonly type: 'receipts';
  readonly space: string;
  readonly sequence: Sequence;
  readonly receipts: readonly Receipt[];
}
export interface ResetRequired {
  readonly type: 'reset_required';
  readonly id: string;
  readonly reason: ResetReason | string;
}
export interface Unsubscribed {
  readonly type: 'unsubscribed';
  readonly id: string;
  readonly reason: 'requested' | 'forbidden' | string;
}
export interface ErrorDocument {
  readonly type: 'error';
  readonly id?: string;
  readonly code: ErrorCode | string;
  readonly message: string;
  /** Milliseconds. */
  readonly retry_after?: number;
  /** Of a mutation that was not processed. */
  readonly space?: string;
  readonly number?: string;
  readonly expected?: string;
}
export interface Ping {
  readonly type: 'ping';
}
export interface Drain {
  readonly type: 'drain';
  /** Milliseconds. */
  readonly reconnect_after: number;
}
export type ServerDocument =
  | Welcome
  | Notice
  | Subscribed
  | Snapshot
  | Ready
  | Commit
  | Progress
  | At
  | Receipts
  | ResetRequired
  | Unsubscribed
  | ErrorDocument
  | Ping
  | Drain;

/** The server said something that viewgate.v1 does not allow. */
export class ProtocolError extends Error {}

export function encode(message: ClientMessage): string {
  return stringify(message);
}

/** The documents of one text message, in order. Types that this client does not know are left out. */
export function* decode(message: string): Generator<ServerDocument> {
  for (let start = 0; start < message.length; ) {
    let end = message.indexOf('\n', start);
    if (end < 0) end = message.length;
    if (end > start) {
      const document = decodeDocument(message.slice(start, end));
      if (document !== undefined) yield document;
    }
    start = end + 1;
  }
}

export function decodeDocument(text: string): ServerDocument | undefined {
  try {
    const fields = new Fields(text);
    return readers[fields.string('type')]?.(fields);
  } catch (error) {
    if (error instanceof SyntaxError) throw new ProtocolError(error.message);
    throw error;
  }
}

/** The members of one document as slices of its text. */
class Fields {
  private readonly slices = new Map<string, string>();

  constructor(text: string) {
    const end = eachMember(text, 0, (name, from, to) => this.slices.set(name, text.slice(from, to)));
    if (skipBlanks(text, end) !== text.length) throw new SyntaxError('JSON: something follows the document');
  }

  raw(name: string): string {
    const slice = this.slices.get(name);
    if (slice === undefined) throw new ProtocolError(`a document without "${name}"`);
    return slice;
  }

  string(name: string): string {
    const value: unknown = JSON.parse(this.raw(name));
    if (typeof value !== 'string') throw new ProtocolError(`"${name}" is not a string`);
    return value;
  }

  sequence(name: string): Sequence {
    const value = this.string(name);
    if (!/^(0|[1-9]\d*)$/.test(value)) throw new ProtocolError(`"${name}" is not a sequence`);
    return value;
  }

  number(name: string): number {
    const value: unknown = JSON.parse(this.raw(name));
    if (typeof value !== 'number') throw new ProtocolError(`"${name}" is not a number`);
    return value;
  }

  boolean(name: string, absent: boolean): boolean {
    if (!this.slices.has(name)) return absent;
    const value: unknown = JSON.parse(this.raw(name));
    if (typeof value !== 'boolean') throw new ProtocolError(`"${name}" is not true or false`);
    return value;
  }

  /** `{name: value}` where the member is there, else `{}`: to be spread. */
  optionalString<N extends string>(name: N): { [K in N]?: string } {
    return (this.slices.has(name) ? { [name]: this.string(name) } : {}) as { [K in N]?: string };
  }

  optionalNumber<N extends string>(name: N): { [K in N]?: number } {
    return (this.slices.has(name) ? { [name]: this.number(name) } : {}) as { [K in N]?: number };
  }

  optionalStrings<N extends string>(name: N): { [K in N]?: string[] } {
    const strings = (): string[] => this.items(name).map((item) => JSON.parse(item) as string);
    return (this.slices.has(name) ? { [name]: strings() } : {}) as { [K in N]?: string[] };
  }

  items(name: string): string[] {
    const text = this.raw(name);
    const out: string[] = [];
    eachElement(text, 0, (from, to) => out.push(text.slice(from, to)));
    return out;
  }
}

function readRecord(text: string): SnapshotRecord {
  const fields = new Fields(text);
  return { key: compact(fields.raw('key')), record: fields.raw('record') };
}

function readReceipt(text: string): Receipt {
  const fields = new Fields(text);
  return {
    client: fields.string('client'),
    number: fields.sequence('number'),
    sequence: fields.sequence('sequence'),
    outcome: fields.string('outcome'),
    ...fields.optionalString('reason'),
    text,
  };
}

function readEvent(text: string): RecordEvent {
  const fields = new Fields(text);
  const kind = fields.string('kind');
  const key = compact(fields.raw('key'));
  switch (kind) {
    case 'entered':
      return { kind, key, record: fields.raw('record') };
    case 'updated':
      return { kind, key, changed: fields.raw('changed'), ...fields.optionalStrings('groups') };
    case 'removed_from_scope':
    case 'deleted':
      return { kind, key };
    default:
      // To pass over an event would leave a set that is not the view.
      throw new ProtocolError(`an event of unknown kind ${JSON.stringify(kind)}`);
  }
}

const readers: { readonly [type: string]: ((fields: Fields) => ServerDocument) | undefined } = {
  welcome: (f) => ({
    type: 'welcome',
    principal: f.string('principal'),
    expires_in: f.number('expires_in'),
    heartbeat: f.number('heartbeat'),
    message_bytes: f.number('message_bytes'),
    subscriptions: f.number('subscriptions'),
  }),
  notice: (f) => ({ type: 'notice', kind: f.string('kind'), ...f.optionalNumber('in') }),
  subscribed: (f) => ({
    type: 'subscribed',
    id: f.string('id'),
    channel: f.string('channel'),
    context: f.string('context'),
    resumed: f.boolean('resumed', false),
    ...f.optionalString('same_as'),
  }),
  snapshot: (f) => ({ type: 'snapshot', channel: f.string('channel'), records: f.items('records').map(readRecord) }),
  ready: (f) => ({
    type: 'ready',
    channel: f.string('channel'),
    sequence: f.sequence('sequence'),
    position: f.string('position'),
    head: f.sequence('head'),
  }),
  commit: (f) => {
    const last = f.boolean('last', true);
    return {
      type: 'commit',
      channel: f.string('channel'),
      sequence: f.sequence('sequence'),
      ...(last ? { position: f.string('position') } : {}),
      events: f.items('events').map(readEvent),
      last,
    };
  },
  progress: (f) => ({
    type: 'progress',
    channel: f.string('channel'),
    sequence: f.sequence('sequence'),
    position: f.string('position'),
  }),
  at: (f) => ({ type: 'at', space: f.string('space'), sequence: f.sequence('sequence') }),
  receipts: (f) => ({
    type: 'receipts',
    space: f.string('space'),
    sequence: f.sequence('sequence'),
    receipts: f.items('receipts').map(readReceipt),
  }),
  reset_required: (f) => ({ type: 'reset_required', id: f.string('id'), reason: f.string('reason') }),
  unsubscribed: (f) => ({ type: 'unsubscribed', id: f.string('id'), reason: f.string('reason') }),
  error: (f) => ({
    type: 'error',
    ...f.optionalString('id'),
    code: f.string('code'),
    message: f.string('message'),
    ...f.optionalNumber('retry_after'),
    ...f.optionalString('space'),
    ...f.optionalString('number'),
    ...f.optionalString('expected'),
  }),
  ping: () => ({ type: 'ping' }),
  drain: (f) => ({ type: 'drain', reconnect_after: f.number('reconnect_after') }),
};
