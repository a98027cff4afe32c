// Every message of viewgate.v1, as gateway/protocol.hpp has it, and the reading and writing of their JSON text. Reading is
// strict about what this client relies on and blind to what it does not know (a server may add members and documents).

import { compact, eachElement, membersOf } from './json.js';

export const protocolVersion = 1;
export const subprotocol = 'viewgate.v1';

/** A commit's number in its space: a decimal string. Sent back only as the base of a mutation. */
export type Sequence = string;

/** Orders sequences without turning them into doubles. */
export function compareSequences(a: Sequence, b: Sequence): number {
  return a.length - b.length || (a < b ? -1 : Number(a > b));
}

export function laterOf(a: Sequence, b: Sequence): Sequence {
  return compareSequences(a, b) > 0 ? a : b;
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
  | { readonly kind: 'updated'; readonly key: string; readonly changed: string }
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
export interface Pong {
  readonly type: 'pong';
}
export type ClientMessage = Hello | Subscribe | Unsubscribe | Refresh | Pong;

// Server documents.

export interface Welcome {
  readonly type: 'welcome';
  readonly principal: string;
  /** What the server's log calls this socket. */
  readonly connection?: string;
  /** Seconds; twice as long without a document means a dead link. */
  readonly heartbeat: number;
  /** The largest message that the server takes: a larger one ends the connection for good. */
  readonly message_bytes?: number;
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
  /** The transaction's time: RFC 3339 in UTC. */
  readonly at?: string;
  /** With which a back-end has signed its transaction (`viewgate.tag`). */
  readonly request_id?: string;
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
  /** Of a mutation that was not processed: protocol_write.ts knows more of it. */
  readonly number?: string;
  /** The server's log has a line about it, under this id. */
  readonly connection?: string;
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
  | ResetRequired
  | Unsubscribed
  | ErrorDocument
  | Ping
  | Drain;

/** A bigint is a string, as the protocol takes those of `params`. What is written keeps its digits: see `stringify`. */
export function encode(message: unknown): string {
  return JSON.stringify(message, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/** Of a message, as the server counts it. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** One document; undefined: of a type that this client does not know. */
export function decodeDocument(text: string): ServerDocument | undefined {
  const document = readDocument(text, shapes) as ServerDocument | undefined;
  // What is about a mutation is the writer's.
  if (document?.type === 'error' && document.number !== undefined) return undefined;
  if (document?.type === 'commit' && document.last && document.position === undefined) {
    wrong('position');
  }
  return document;
}

/** Reads one of the members, by name. */
export type Reader<T> = (members: Members, name: string) => T;
type Members = ReadonlyMap<string, string>;

/** A reader for every member of a document. What it gives as undefined is left out. */
export type Shape<D> = { readonly [M in Exclude<keyof D, 'type'>]-?: Reader<D[M] | undefined> };

/** Reads a document by the shape of its type. Members that the shape does not name are passed over. Throws a SyntaxError. */
export function readDocument(text: string, known: { readonly [type: string]: object }): object | undefined {
  const members = membersOf(text);
  const type = string(members, 'type');
  const shape = known[type];
  return shape && { type, ...readMembers(members, shape as Shape<object>) };
}

export function readMembers<D>(members: Members, shape: Shape<D>): D {
  const out: { [name: string]: unknown } = {};
  for (const [name, read] of Object.entries(shape) as [string, Reader<unknown>][]) {
    const value = read(members, name);
    if (value !== undefined) out[name] = value;
  }
  return out as unknown as D;
}

const raw: Reader<string> = (members, name) => members.get(name) ?? wrong(name);

function wrong(name: string): never {
  throw new SyntaxError(`no ${name}, or a wrong one`);
}

function typed<T>(type: string): Reader<T> {
  return (members, name) => {
    const value: unknown = JSON.parse(raw(members, name));
    return typeof value === type ? (value as T) : wrong(name);
  };
}

export const string = typed<string>('string');
export const number = typed<number>('number');
const boolean = typed<boolean>('boolean');

export const sequence: Reader<Sequence> = (members, name) => {
  const value = string(members, name);
  return /^(0|[1-9]\d*)$/.test(value) ? value : wrong(name);
};

/** A key's text is the same however it was spaced. */
export const key: Reader<string> = (members, name) => compact(raw(members, name));

export function optional<T>(read: Reader<T>, absent?: T): Reader<T | undefined> {
  return (members, name) => (members.has(name) ? read(members, name) : absent);
}

/** Each element's text through `read`. */
export function list<T>(read: (text: string) => T): Reader<T[]> {
  return (members, name) => {
    const text = raw(members, name);
    const out: T[] = [];
    eachElement(text, 0, (from, to) => out.push(read(text.slice(from, to))));
    return out;
  };
}

function readRecord(text: string): SnapshotRecord {
  const members = membersOf(text);
  return { key: key(members, 'key'), record: raw(members, 'record') };
}

function readEvent(text: string): RecordEvent {
  const members = membersOf(text);
  const kind = string(members, 'kind');
  const isGone = kind === 'removed_from_scope' || kind === 'deleted';
  // To pass over an event would leave a set that is not the view.
  const more = kind === 'entered' ? { record: raw } : kind === 'updated' ? { changed: raw } : isGone ? {} : wrong(`event ${kind}`);
  return { kind, ...readMembers<object>(members, { key, ...more }) } as RecordEvent;
}

const shapes: { readonly [T in ServerDocument['type']]: Shape<Extract<ServerDocument, { type: T }>> } = {
  welcome: { principal: string, connection: optional(string), heartbeat: number, message_bytes: optional(number) },
  notice: { kind: string, in: optional(number) },
  subscribed: {
    id: string,
    channel: string,
    context: string,
    resumed: optional(boolean, false),
    same_as: optional(string),
  },
  snapshot: { channel: string, records: list(readRecord) },
  ready: { channel: string, sequence, position: string, head: sequence },
  commit: {
    channel: string,
    sequence,
    position: optional(string),
    events: list(readEvent),
    last: optional(boolean, true),
    at: optional(string),
    request_id: optional(string),
  },
  progress: { channel: string, sequence, position: string },
  at: { space: string, sequence },
  reset_required: { id: string, reason: string },
  unsubscribed: { id: string, reason: string },
  error: {
    id: optional(string),
    code: string,
    message: string,
    retry_after: optional(number),
    number: optional(string),
    connection: optional(string),
  },
  ping: {},
  drain: { reconnect_after: number },
};
