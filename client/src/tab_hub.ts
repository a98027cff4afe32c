// The tab that has the connection is the gateway of the others: it speaks the same protocol to them, out of its own views. So a tab
// that follows is an ordinary client, and one that takes over goes on from cursors that the gateway itself has made.

import type { Client } from './client.js';
import { eachMember } from './json.js';
import { encode, type ClientMessage, type Sequence, type Subscribe } from './protocol.js';
import type { Change } from './record_set.js';
import type { View } from './view.js';

/** How a tab that follows is reached. */
export interface TabLink {
  send(text: string): void;
  close(code: number): void;
}

interface Followed {
  readonly id: string;
  readonly view: View<unknown>;
  /** The other tab has the set, and every change goes to it. */
  isReady: boolean;
  told: Sequence;
  cursor: string | undefined;
  readonly ends: (() => void)[];
}

const recordsPerDocument = 500;
/** Seconds; a tab that follows is not told less than this one is. */
const heartbeat = 20;

/** One tab that follows. */
export class TabHub {
  private readonly views = new Map<string, Followed>();
  private documents: string[] = [];
  private readonly moved = new Set<string>();
  private isGreeted = false;
  private wantsGreeting = false;

  constructor(private readonly client: Client, private readonly link: TabLink) {}

  receive(text: string): void {
    const message = JSON.parse(text) as ClientMessage;
    switch (message.type) {
      case 'hello':
        this.wantsGreeting = true;
        return this.stateChanged();
      case 'subscribe':
        return this.subscribe(message);
      case 'unsubscribe':
        this.unsubscribe(message.id);
        return this.say({ type: 'unsubscribed', id: message.id, reason: 'requested' });
    }
  }

  /** The connection of this tab is another: a tab that follows is offline when this one is. */
  stateChanged(): void {
    const { status, lastClose, welcome } = this.client;
    if (status === 'denied') return this.link.close(lastClose ?? 1001);
    if (this.isGreeted && status !== 'online') return this.link.close(1001);
    if (this.isGreeted || !this.wantsGreeting || status !== 'online') return;
    this.isGreeted = true;
    this.say({ ...welcome, heartbeat: Math.max(heartbeat, welcome?.heartbeat ?? 0) });
  }

  /** Before the greeting only that there is somebody. */
  ping(): void {
    if (!this.isGreeted) return this.link.send('');
    this.say({ type: 'ping' });
  }

  end(): void {
    for (const id of [...this.views.keys()]) this.unsubscribe(id);
  }

  private subscribe({ id, view: name, space, params = {}, cursor }: Subscribe): void {
    const view = this.client.subscribe<unknown>(name, { space, params });
    const followed: Followed = { id, view, isReady: false, told: '0', cursor, ends: [] };
    this.views.set(id, followed);
    followed.ends.push(view.subscribe((change) => this.changed(followed, change)));
    followed.ends.push(view.onState(() => this.looked(followed)));
    this.looked(followed);
  }

  private unsubscribe(id: string): void {
    const followed = this.views.get(id);
    this.views.delete(id);
    for (const end of followed?.ends ?? []) end();
    followed?.view.close();
  }

  /** Sends the set as soon as there is one, and the cursor when only that moved. */
  private looked(followed: Followed): void {
    const { id, view } = followed;
    const { status, error } = view;
    if (status === 'denied' || status === 'failed') {
      this.unsubscribe(id);
      return this.say({ type: 'error', id, code: error?.code ?? 'forbidden', message: error?.message ?? status });
    }
    const [context, position] = halves(view.cursor);
    if (position === undefined || (status !== 'live' && status !== 'catching_up')) return;
    if (!followed.isReady) return this.sendSet(followed, context, position);
    if (view.sequence === followed.told) return;
    this.moveTo(followed);
    this.say({ type: 'progress', channel: id, sequence: view.sequence, position });
  }

  private sendSet(followed: Followed, context: string | undefined, position: string): void {
    const { id, view, cursor } = followed;
    const resumed = cursor === view.cursor;
    followed.isReady = true;
    this.say({ type: 'subscribed', id, channel: id, context, resumed });
    const items = resumed ? [] : [...view.items()];
    for (let from = 0; from < items.length; from += recordsPerDocument) {
      const records = items.slice(from, from + recordsPerDocument).map(({ key, text }) => `{"key":${key},"record":${text}}`);
      this.sayText(`{"type":"snapshot","channel":${encode(id)},"records":[${records.join()}]}`);
    }
    this.moveTo(followed);
    this.say({ type: 'ready', channel: id, sequence: view.sequence, position, head: view.head });
  }

  private changed(followed: Followed, change: Change): void {
    const { id, view } = followed;
    if (!followed.isReady) return;
    const [, position] = halves(view.cursor);
    if (change.kind === 'replaced') {
      // Told anew, as the gateway did; where nothing is shown any more, the other tab shows nothing at once.
      if (view.sequence === followed.told && view.cursor !== undefined) return;
      followed.isReady = false;
      followed.cursor = undefined;
      const reason = view.cursor === undefined ? 'authorization_changed' : 'state_unavailable';
      this.say({ type: 'reset_required', id, reason });
      return this.looked(followed);
    }
    this.moveTo(followed);
    const { sequence, at, requestId: request_id } = change;
    const head = encode({ type: 'commit', channel: id, sequence, position, at, request_id });
    this.sayText(`${head.slice(0, -1)},"events":[${eventsOf(change).join()}]}`);
  }

  private moveTo(followed: Followed): void {
    followed.told = followed.view.sequence;
    this.moved.add(followed.view.space);
  }

  private say(document: object): void {
    this.sayText(encode(document));
  }

  /** What happens in one turn goes out as one message, with the word up to where the views of a space are complete. */
  private sayText(text: string): void {
    this.documents.push(text);
    if (this.documents.length > 1) return;
    void Promise.resolve().then(() => {
      for (const space of this.moved) {
        const ready = [...this.views.values()].filter((each) => each.isReady && each.view.space === space);
        const sequence = ready.map(({ told }) => told).sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).pop();
        if (ready.length > 1) this.documents.push(encode({ type: 'at', space, sequence }));
      }
      this.moved.clear();
      this.link.send(this.documents.splice(0).join('\n'));
    });
  }
}

function halves(cursor: string | undefined): [string | undefined, string | undefined] {
  const dot = cursor?.indexOf('.') ?? -1;
  return cursor === undefined || dot < 0 ? [undefined, undefined] : [cursor.slice(0, dot), cursor.slice(dot + 1)];
}

function eventsOf({ entered, updated, left, deleted }: Change): string[] {
  return [
    ...entered.map(({ key, text }) => `{"kind":"entered","key":${key},"record":${text}}`),
    ...updated.map(({ key, after, columns }) => `{"kind":"updated","key":${key},"changed":${pick(after.text, columns)}}`),
    ...left.map(({ key }) => `{"kind":"removed_from_scope","key":${key}}`),
    ...deleted.map(({ key }) => `{"kind":"deleted","key":${key}}`),
  ];
}

/** Some columns of a record, byte for byte. */
function pick(record: string, columns: readonly string[]): string {
  const members: string[] = [];
  eachMember(record, 0, (name, start, end) => {
    if (columns.includes(name)) members.push(`${encode(name)}:${record.slice(start, end)}`);
  });
  return `{${members.join()}}`;
}
