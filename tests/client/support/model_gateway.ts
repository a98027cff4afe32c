// A gateway as the protocol describes it, in memory and without time: what a client may meet, drawn from a seed. It exists to
// try the client's fold and state machine against every order of documents that the protocol allows; that the real gateway
// is one of these is shown by the test in the browser.

import { Desk } from './model_desk.js';
import type { Random } from './random.js';

export interface Account {
  readonly id: number;
  readonly a: number;
  readonly b: string;
}

export type State = ReadonlyMap<number, Account>;

export function recordText(record: Account): string {
  return `{"id": ${record.id}, "a": ${record.a}, "b": ${JSON.stringify(record.b)}}`;
}

const predicates: Record<string, (record: Account, params: { low?: number }) => boolean> = {
  overdrawn: (record) => record.a < 0,
  above: (record, params) => record.a >= (params.low ?? 0),
};

/** When the commit was made. */
export function timeOf(sequence: number | string): string {
  return `2024-02-29T12:00:00.${String(sequence).padStart(6, '0')}Z`;
}

/** The view as a query: key text → record text. */
export function query(state: State, view: string, params: object): Map<string, string> {
  const inside = predicates[view];
  if (inside === undefined) throw new Error(`no view ${view}`);
  const out = new Map<string, string>();
  for (const record of state.values()) if (inside(record, params)) out.set(`[${record.id}]`, recordText(record));
  return out;
}

/** The states of each space after commit 0, 1, 2 … */
export class Ledger {
  readonly spaces = new Map<string, State[]>();
  /** What was written through the door. */
  readonly desk = new Desk(this);
  /** Version of each view: a cursor of an earlier one is answered by a reset. */
  readonly versions = new Map<string, number>();

  states(space: string): State[] {
    let states = this.spaces.get(space);
    if (states === undefined) this.spaces.set(space, (states = [new Map()]));
    return states;
  }

  head(space: string): number {
    return this.states(space).length - 1;
  }

  write(random: Random, space: string): void {
    const states = this.states(space);
    const next = new Map(states[states.length - 1]);
    for (let changes = 1 + random.below(4); changes > 0; --changes) {
      const id = 1 + random.below(12);
      if (random.chance(20)) next.delete(id);
      else next.set(id, { id, a: random.below(21) - 10, b: random.pick(['x', 'é"\\', '{}[],:']) });
    }
    states.push(next);
  }
}

function events(before: State, after: State, view: string, params: object): string[] {
  const was = query(before, view, params);
  const is = query(after, view, params);
  const out: string[] = [];
  for (const [key, text] of is) {
    const old = was.get(key);
    if (old === undefined) out.push(`{"kind":"entered","key":${key},"record":${text}}`);
    else if (old !== text) out.push(`{"kind":"updated","key":${key},"changed":${changed(old, text)}}`);
  }
  for (const key of was.keys()) {
    if (is.has(key)) continue;
    const stillThere = after.has(Number(key.slice(1, -1)));
    out.push(`{"kind":"${stillThere ? 'removed_from_scope' : 'deleted'}","key":${key}}`);
  }
  return out;
}

function changed(oldText: string, newText: string): string {
  const old = JSON.parse(oldText) as Record<string, unknown>;
  const members = Object.entries(JSON.parse(newText) as Record<string, unknown>).filter(([name, v]) => old[name] !== v);
  return `{${members.map(([name, value]) => `"${name}": ${JSON.stringify(value)}`).join(', ')}}`;
}

/** One group of one socket: its names, and how far it was written. */
interface Stream {
  readonly group: string;
  channel: string;
  readonly space: string;
  readonly view: string;
  readonly params: object;
  readonly names: string[];
  through: number;
  snapshotAt: number | undefined;
  ready: boolean;
}

/** The server's side of one socket. */
export class Link {
  private readonly streams: Stream[] = [];
  private readonly inbox: Record<string, unknown>[] = [];
  private readonly answers: string[] = [];
  /** Spaces in which something moves with the message that is being made. */
  private readonly moved = new Set<string>();
  /** What a message that ended inside a commit left over: it comes next. */
  private readonly rest: string[] = [];
  /** Receipts of commits that not every view of their space has come to. */
  private readonly owed: { readonly space: string; readonly sequence: number; readonly text: string }[] = [];
  private client = '';
  private isGreeted = false;

  constructor(private readonly ledger: Ledger, private readonly random: Random, private readonly principal = 'alice') {}

  /** What a client sends is read when its turn comes, not all in one. */
  receive(message: Record<string, unknown>): void {
    this.inbox.push(message);
  }

  private handle(message: Record<string, unknown>): void {
    if (message['type'] === 'hello') {
      this.isGreeted = true;
      this.client = String(message['client'] ?? '');
      const limits = '"expires_in":300,"heartbeat":20,"message_bytes":65536,"subscriptions":128';
      this.answers.push(`{"type":"welcome","principal":"${this.principal}",${limits}}`);
    } else if (message['type'] === 'subscribe') {
      this.subscribe(message as never);
    } else if (message['type'] === 'unsubscribe') {
      this.unsubscribe(String(message['id']));
    } else if (message['type'] === 'mutate' && this.client === '') {
      const { space, number } = message;
      const because = { code: 'bad_request', message: 'hello named no client: mutations are numbered under one' };
      this.answers.push(JSON.stringify({ type: 'error', ...because, space, number }));
    } else if (message['type'] === 'mutate') {
      const answer = this.ledger.desk.process(this.client, message as never);
      if (this.ledger.desk.lost > 0) this.ledger.desk.lost--;
      else if ('error' in answer) this.answers.push(answer.error);
      else this.owed.push(answer);
    }
  }

  /** A view became another: everybody who has it starts anew. */
  reset(): void {
    const view = this.streams[this.random.below(Math.max(1, this.streams.length))]?.view;
    if (view === undefined || this.rest.length > 0) return;
    this.ledger.versions.set(view, this.version(view) + 1);
    for (const stream of this.streams.filter((each) => each.view === view)) {
      stream.channel = this.channelOf(stream.group, view);
      stream.ready = false;
      stream.snapshotAt = this.ledger.head(stream.space);
      for (const [i, name] of stream.names.entries()) {
        this.answers.push(`{"type":"reset_required","id":"${name}","reason":"view_changed"}`);
        this.answers.push(this.subscribed(stream, name, false, i > 0));
      }
    }
  }

  /** One message: answers, then some of what some streams have, then `at`; undefined: nothing to say. */
  message(): string | undefined {
    const out = this.rest.splice(0);
    if (out.length === 0) this.fill(out);
    const inside = out.findIndex((document) => document.includes('"last":false'));
    const isPlain = !out.some((document) => document.includes('"ready"'));
    if (inside >= 0 && isPlain && this.random.chance(50)) this.rest.push(...out.splice(inside + 1));
    return out.length === 0 ? undefined : out.join('\n') + (this.random.chance(50) ? '\n' : '');
  }

  private fill(out: string[]): void {
    for (const message of this.inbox.splice(0, 1 + this.random.below(4))) this.handle(message);
    out.push(...this.answers.splice(0));
    for (const stream of this.streams) {
      if (this.random.chance(70) && this.advance(stream, out)) this.moved.add(stream.space);
    }
    for (const { space, sequence, text } of this.owed.splice(0)) {
      for (const stream of this.streams.filter((each) => each.space === space && each.ready)) {
        while (stream.through < sequence) this.advance(stream, out);
      }
      this.moved.add(space);
      out.push(text);
    }
    for (const space of this.moved) {
      const ready = this.streams.filter((stream) => stream.space === space && stream.ready);
      const at = Math.min(...ready.map((stream) => stream.through));
      if (ready.length > 1) out.push(`{"type":"at","space":"${space}","sequence":"${at}"}`);
    }
    this.moved.clear();
    // Before `welcome` a gateway says nothing.
    if (out.length === 0 && this.random.chance(10) && this.isGreeted) out.push('{"type":"ping"}');
  }

  /** Whether everything was said. */
  idle(): boolean {
    return (
      this.inbox.length === 0 &&
      this.answers.length === 0 &&
      this.owed.length === 0 &&
      this.rest.length === 0 &&
      this.streams.every((stream) => stream.ready && stream.through === this.ledger.head(stream.space))
    );
  }

  private subscribe(message: { id: string; space: string; view: string; params: object; cursor?: string }): void {
    const group = `${message.space}/${message.view}/${JSON.stringify(message.params)}`;
    const same = this.streams.find((stream) => stream.group === group);
    if (same !== undefined) {
      same.names.push(message.id);
      this.answers.push(this.subscribed(same, message.id, false, true));
      return;
    }
    const cursor = message.cursor === undefined ? undefined : this.open(group, message.cursor);
    if (cursor === 'invalid') {
      this.answers.push(`{"type":"error","id":"${message.id}","code":"cursor_invalid","message":"cursor"}`);
      return;
    }
    const isOld = cursor !== undefined && (cursor.version !== this.version(message.view) || this.random.chance(10));
    if (isOld) this.answers.push(`{"type":"reset_required","id":"${message.id}","reason":"view_changed"}`);
    const resumes = cursor !== undefined && !isOld;
    const stream: Stream = {
      group,
      channel: this.channelOf(group, message.view),
      space: message.space,
      view: message.view,
      params: message.params,
      names: [message.id],
      through: cursor?.sequence ?? 0,
      // A bootstrap may be one that was made for somebody else a while ago.
      snapshotAt: resumes ? undefined : this.ledger.head(message.space) - this.random.below(2),
      ready: false,
    };
    if (stream.snapshotAt !== undefined && stream.snapshotAt < 0) stream.snapshotAt = 0;
    this.streams.push(stream);
    this.answers.push(this.subscribed(stream, message.id, resumes, false));
    // Where the place of the cursor is known, `ready` follows at once.
    if (resumes && this.random.chance(70) && this.advance(stream, this.answers)) this.moved.add(stream.space);
  }

  private unsubscribe(id: string): void {
    const stream = this.streams.find((each) => each.names.includes(id));
    if (stream === undefined) return;
    stream.names.splice(stream.names.indexOf(id), 1);
    if (stream.names.length === 0) this.streams.splice(this.streams.indexOf(stream), 1);
    this.answers.push(`{"type":"unsubscribed","id":"${id}","reason":"requested"}`);
  }

  private version(view: string): number {
    return this.ledger.versions.get(view) ?? 1;
  }

  private channelOf(group: string, view: string): string {
    return `${group}#${this.version(view)}`;
  }

  private position(stream: Stream, sequence: number): string {
    return `p${sequence}_${this.version(stream.view)}`;
  }

  /** Both halves must be of one group and one version of it, as the seals of a real cursor are. */
  private open(group: string, cursor: string): { sequence: number; version: number } | 'invalid' {
    const [context = '', position = ''] = cursor.split('.');
    const [principal, ofGroup, ofContext] = Buffer.from(context, 'base64url').toString().split(' ');
    const [, sequence, ofPosition] = /^p(\d+)_(\d+)$/.exec(position) ?? [];
    if (principal !== this.principal || ofGroup !== group || ofContext !== ofPosition) return 'invalid';
    return { sequence: Number(sequence), version: Number(ofContext) };
  }

  private subscribed(stream: Stream, id: string, resumed: boolean, shared: boolean): string {
    const sameAs = shared ? { same_as: stream.names[0] } : {};
    const context = Buffer.from(`${this.principal} ${stream.group} ${this.version(stream.view)}`).toString('base64url');
    return JSON.stringify({ type: 'subscribed', id, channel: stream.channel, context, resumed, ...sameAs });
  }

  private advance(stream: Stream, out: string[]): boolean {
    const channel = JSON.stringify(stream.channel);
    const states = this.ledger.states(stream.space);
    const head = states.length - 1;
    if (!stream.ready) {
      if (stream.snapshotAt !== undefined) this.snapshot(stream, stream.snapshotAt, out);
      const position = `"sequence":"${stream.through}","position":"${this.position(stream, stream.through)}"`;
      out.push(`{"type":"ready","channel":${channel},${position},"head":"${head}"}`);
      stream.ready = true;
      return true;
    }
    const before = stream.through;
    for (let steps = 1 + this.random.below(4); steps > 0 && stream.through < head; --steps) {
      const next = ++stream.through;
      const list = events(states[next - 1] ?? new Map(), states[next] ?? new Map(), stream.view, stream.params);
      if (list.length > 0) this.commit(stream, next, list, out);
      else if (next === head || this.random.chance(30)) {
        out.push(`{"type":"progress","channel":${channel},"sequence":"${next}","position":"${this.position(stream, next)}"}`);
      }
    }
    return stream.through > before;
  }

  private snapshot(stream: Stream, at: number, out: string[]): void {
    const channel = JSON.stringify(stream.channel);
    const records = [...query(this.ledger.states(stream.space)[at] ?? new Map(), stream.view, stream.params)];
    while (records.length > 0) {
      const some = records.splice(0, 1 + this.random.below(5));
      const text = some.map(([key, record]) => `{"key":${key},"record":${record}}`).join(',');
      out.push(`{"type":"snapshot","channel":${channel},"records":[${text}]}`);
    }
    stream.through = at;
    stream.snapshotAt = undefined;
  }

  private commit(stream: Stream, sequence: number, list: string[], out: string[]): void {
    const channel = JSON.stringify(stream.channel);
    while (list.length > 1 && this.random.chance(40)) {
      const part = list.splice(0, 1 + this.random.below(list.length - 1)).join(',');
      out.push(`{"type":"commit","channel":${channel},"sequence":"${sequence}","events":[${part}],"last":false}`);
    }
    const position = `"position":"${this.position(stream, sequence)}","at":"${timeOf(sequence)}"`;
    out.push(`{"type":"commit","channel":${channel},"sequence":"${sequence}",${position},"events":[${list.join(',')}]}`);
  }
}
