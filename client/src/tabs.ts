// Several tabs, one connection. The tab that holds a lock has the socket; the others reach it over a BroadcastChannel, and each time
// the lock changes hands they connect again, the new holder to the gateway. A tab that the browser puts to sleep lets the lock go before:
// in Chromium it would still hear the others, and answer, and never the gateway. One that is stopped unasked does not answer: then
// another one steals the lock. Where a browser has neither, each tab connects by itself.

import { Client, systemTimers, type ClientOptions, type SocketConstructor, type SocketLike, type Timers } from './client.js';
import { silent } from './codes.js';
import type { AnyModel, Untyped } from './model.js';
import { TabHub } from './tab_hub.js';

export interface SharedOptions extends ClientOptions {
  /** Tabs share with tabs of the same principal only. */
  readonly principal: string;
}

/**
 * What goes over the channel: of a follower's socket to the leader, and back, where `by` is the leader: one that has lost the lock in its
 * sleep may believe for a moment that it still leads. An empty text says that there is a leader. @form
 */
type Parcel =
  | { readonly to: 'leader'; readonly from: string; readonly text: string | null }
  | { readonly to: string; readonly by: string; readonly text: string }
  | { readonly to: string; readonly by: string; readonly code: number };

const pingInterval = 10_000;
/** A tab that is gone does not say so; one that sleeps comes back and starts anew. */
const goneAfter = 120_000;
const goingAway = 1001;

type Handler = ((event: never) => void) | null;

/** As `connect`, but tabs of one principal share a connection. */
export function connectShared<M extends AnyModel = Untyped>(options: SharedOptions): Client<M> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  const isPossible = locks !== undefined && typeof BroadcastChannel !== 'undefined';
  const tabs = isPossible ? tabsOf(options, locks) : undefined;
  if (tabs === undefined) return new Client<M>(options);
  const client = new Client<M>({ ...options, WebSocket: tabs.socketClass() }, options);
  tabs.attach(client);
  return client;
}

/** Undefined where the page's origin may not have a channel: in a frame without one of its own, for instance. */
function tabsOf(options: SharedOptions, locks: LockManager): Tabs | undefined {
  try {
    return new Tabs(options, locks);
  } catch (error) {
    if ((error as Error).name === 'SecurityError') return undefined;
    throw error;
  }
}

class Tabs {
  isLeader = false;
  /** The locks are refused: this tab shares nothing, and connects by itself. */
  isAlone = false;
  /** Resolves when it is known whether another tab leads. */
  decided: Promise<void>;
  private readonly name: string;
  /** Among the tabs. */
  private readonly id = randomId();
  private channel: BroadcastChannel;
  private readonly sockets = new Map<string, TabSocket>();
  private readonly hubs = new Map<string, { hub: TabHub; heard: number }>();
  private client: Client | undefined;
  /** The line to the gateway, where this tab leads. */
  private own: TabSocket | undefined;
  private letGo: (() => void) | undefined;
  private pings: unknown;
  private pinged = 0;
  private isQueued = false;
  /** Of the waiting for the lock. */
  private waiting = new AbortController();
  private isStealing = false;
  private isAsleep = false;
  private isEnded = false;
  private readonly page = (globalThis as Partial<Window & typeof globalThis>).document;
  private stopListening = new AbortController();

  constructor(readonly options: SharedOptions, private readonly locks: LockManager) {
    this.name = `viewgate ${options.url} ${options.principal}`;
    this.channel = this.openChannel();
    this.decided = this.compete();
    this.listen();
  }

  private get timers(): Timers {
    return this.options.timers ?? systemTimers;
  }

  private openChannel(): BroadcastChannel {
    const channel = new BroadcastChannel(this.name);
    channel.onmessage = (event: MessageEvent<Parcel>) => this.receive(event.data);
    return channel;
  }

  /** A WebSocket that is the leader's line, or the gateway's where this tab leads. */
  socketClass(): SocketConstructor {
    const tabs = this;
    return class extends TabSocket {
      constructor(url: string, protocol: string) {
        super(tabs, url, protocol);
      }
    };
  }

  attach(client: Client): void {
    this.client = client;
    client.onState(() => {
      for (const { hub } of [...this.hubs.values()]) hub.stateChanged();
      if (client.status === 'closed') this.end();
      else if (this.isEnded) this.start();
    });
  }

  join(socket: TabSocket): void {
    this.sockets.set(socket.id, socket);
  }

  /** The line to the gateway, of which the other tabs live. */
  leadBy(socket: TabSocket): void {
    this.own = socket;
  }

  /** In a page that nobody looks at, timers ring once a minute at best; the gateway is heard at least once in a heartbeat. */
  heardOn(socket: TabSocket): void {
    const isDue = Math.abs(this.timers.now() - this.pinged) >= pingInterval;
    if (this.isLeader && socket === this.own && isDue) this.pingAll();
  }

  /** Somebody holds the lock, and does not answer: the browser lets it sleep. It learns of this when it wakes. */
  steal(): void {
    if (this.isStealing || this.isLeader || this.isAsleep || this.isEnded) return;
    this.isStealing = true;
    const over = (): void => void (this.isStealing = false);
    this.request({ steal: true }).then(over, over);
  }

  leave(id: string): void {
    if (this.sockets.delete(id) && !this.isEnded) this.post({ to: 'leader', from: id, text: null });
  }

  post(parcel: Parcel): void {
    // What was on its way when this tab left reaches nobody.
    if (!this.isEnded) this.channel.postMessage(parcel);
  }

  /** First only where nobody leads, so that it is known at once; then for when the leader goes. */
  private async compete(): Promise<void> {
    try {
      if (!(await this.request({ ifAvailable: true }))) this.queue();
    } catch {
      this.isAlone = true;
    }
  }

  private queue(): void {
    if (this.isQueued || this.isAsleep || this.isEnded) return;
    this.isQueued = true;
    const { waiting } = this;
    const over = (): void => {
      if (this.waiting === waiting) this.isQueued = false;
    };
    this.request({ signal: waiting.signal }).then(over, over);
  }

  private listen(): void {
    const { signal } = (this.stopListening = new AbortController());
    this.page?.addEventListener('freeze', () => this.sleep(), { signal });
    this.page?.addEventListener('resume', () => this.wake(), { signal });
  }

  /** Nothing comes from the gateway any more, and no timer rings: the lock is for one that runs, now and while this one sleeps. */
  private sleep(): void {
    this.isAsleep = true;
    this.isQueued = false;
    this.waiting.abort();
    this.waiting = new AbortController();
    if (!this.isLeader) return;
    this.lose();
    this.letGo?.();
    this.own?.over(goingAway);
  }

  private wake(): void {
    this.isAsleep = false;
    this.queue();
  }

  private request(options: LockOptions): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let isHeld = false;
      const held = this.locks.request(this.name, options, (lock) => {
        resolve(lock !== null);
        if (lock === null || this.isEnded || this.isAsleep) return undefined;
        isHeld = true;
        this.lead();
        return new Promise<void>((release) => (this.letGo = release));
      });
      held.catch((error) => {
        if (isHeld) this.stepDown();
        reject(error);
      });
    });
  }

  private lead(): void {
    this.isLeader = true;
    this.pingAll();
    this.post({ to: 'all', by: this.id, code: goingAway });
    for (const socket of [...this.sockets.values()]) socket.over(goingAway);
  }

  /** Another tab has stolen the lock: this one follows it, and waits for its turn. */
  private stepDown(): void {
    if (!this.isLeader) return;
    this.lose();
    this.own?.over(goingAway);
    this.queue();
  }

  private lose(): void {
    this.isLeader = false;
    this.timers.clear(this.pings);
    for (const id of [...this.hubs.keys()]) this.endHub(id, goingAway);
  }

  private endHub(id: string, code?: number): void {
    this.hubs.get(id)?.hub.end();
    this.hubs.delete(id);
    if (code !== undefined) this.post({ to: id, by: this.id, code });
  }

  private receive(parcel: Parcel): void {
    if (parcel.to === 'leader' && 'from' in parcel) {
      if (this.isLeader && this.client !== undefined) this.serve(parcel.from, parcel.text, this.client);
      return;
    }
    if (!('by' in parcel)) return;
    const to = parcel.to === 'all' ? [...this.sockets.values()] : [this.sockets.get(parcel.to)];
    for (const socket of to) {
      if (parcel.to !== 'all' && !socket?.isLedBy(parcel.by)) continue;
      if ('code' in parcel) socket?.over(parcel.code);
      else socket?.heard(parcel.text);
    }
  }

  private serve(from: string, text: string | null, client: Client): void {
    const known = this.hubs.get(from);
    if (text === null) return this.endHub(from);
    const say = (out: string): void => this.post({ to: from, by: this.id, text: out });
    if (known === undefined) {
      // Of a tab that was given up, or that another leader had: it starts anew.
      if (!text.includes('"hello"')) return this.endHub(from, goingAway);
      // There may be no connection yet, and so no greeting.
      say('');
    }
    const hub = known?.hub ?? new TabHub(client, { send: say, close: (code) => this.endHub(from, code) });
    this.hubs.set(from, { hub, heard: this.timers.now() });
    hub.receive(text);
  }

  private pingAll(): void {
    this.timers.clear(this.pings);
    this.pinged = this.timers.now();
    this.pings = this.timers.set(() => this.pingAll(), pingInterval);
    for (const [id, { hub, heard }] of [...this.hubs]) {
      if (this.timers.now() - heard < goneAfter) hub.ping();
      else this.endHub(id);
    }
  }

  /** The client was closed: another tab may lead. */
  private end(): void {
    if (this.isEnded) return;
    this.lose();
    this.isEnded = true;
    this.stopListening.abort();
    this.channel.close();
    this.letGo?.();
  }

  /** The client was started again. */
  private start(): void {
    this.isEnded = false;
    this.isAlone = false; // the locks may be given now
    this.isAsleep = false; // who starts it is awake
    this.channel = this.openChannel();
    this.listen();
    this.decided = this.compete();
  }
}

let ids = 0;

function randomId(): string {
  return `${Math.random().toString(36).slice(2)}-${++ids}`;
}

class TabSocket implements SocketLike {
  onopen: Handler = null;
  onmessage: Handler = null;
  onclose: Handler = null;
  onerror: Handler = null;
  readonly id = randomId();
  private direct: SocketLike | undefined;
  /** Who has answered first, if anybody has. */
  private leader: string | undefined;
  private isGreeting = false;
  private isOver = false;

  constructor(private readonly tabs: Tabs, private readonly url: string, private readonly protocol: string) {
    void tabs.decided.then(() => {
      if (this.isOver) return;
      if (tabs.isLeader) tabs.leadBy(this);
      if (tabs.isLeader || tabs.isAlone) return this.connect(() => this.opened());
      tabs.join(this);
      this.opened();
    });
  }

  send(text: string): void {
    if (this.direct !== undefined) return this.direct.send(text);
    // A tab that writes has a name and receipts of its own: it needs a line of its own.
    if (text.startsWith('{"type":"hello"') && 'client' in (JSON.parse(text) as object)) {
      this.tabs.leave(this.id);
      return this.connect((socket) => socket.send(text));
    }
    this.isGreeting = true;
    this.tabs.post({ to: 'leader', from: this.id, text });
  }

  /** Of several that say so it is the first one. */
  isLedBy(leader: string): boolean {
    this.leader ??= leader;
    return this.leader === leader;
  }

  close(code?: number): void {
    // The client has lost its patience with a leader that did not say a word: who runs at all answers at once.
    if (code === silent && this.isGreeting && this.leader === undefined) this.tabs.steal();
    this.isOver = true;
    this.tabs.leave(this.id);
    this.direct?.close(code);
  }

  heard(text: string): void {
    (this.onmessage as ((event: { data: string }) => void) | null)?.({ data: text });
  }

  over(code: number): void {
    if (this.isOver) return;
    this.close();
    (this.onclose as ((event: { code: number }) => void) | null)?.({ code });
  }

  private opened(): void {
    (this.onopen as ((event: object) => void) | null)?.({});
  }

  private connect(opened: (socket: SocketLike) => void): void {
    const Socket = this.tabs.options.WebSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
    if (Socket === undefined) throw new Error('no WebSocket here: pass one as an option');
    const socket = new Socket(this.url, this.protocol);
    this.direct = socket;
    socket.onopen = () => opened(socket);
    socket.onmessage = (event: { data: unknown }) => {
      this.heard(String(event.data));
      this.tabs.heardOn(this);
    };
    socket.onclose = (event: { code: number }) => this.over(event.code);
    socket.onerror = () => undefined;
  }
}
