// Several tabs, one connection. The tab that holds a lock has the socket; the others reach it over a BroadcastChannel, and each time
// the lock changes hands they connect again, the new holder to the gateway. Where a browser has neither, each tab connects by itself.

import { Client, type ClientOptions, type SocketConstructor, type SocketLike } from './client.js';
import type { AnyModel, Untyped } from './model.js';
import { TabHub } from './tab_hub.js';

export interface SharedOptions extends ClientOptions {
  /** Tabs share with tabs of the same principal only. */
  readonly principal: string;
}

/** What goes over the channel: of a follower's socket to the leader, and back. @form */
type Parcel =
  | { readonly to: 'leader'; readonly from: string; readonly text: string | null }
  | { readonly to: string; readonly text: string }
  | { readonly to: string; readonly code: number };

const pingInterval = 10_000;
/** A tab that is gone does not say so; one that sleeps comes back and starts anew. */
const goneAfter = 120_000;
const goingAway = 1001;

type Handler = ((event: never) => void) | null;

/** As `connect`, but tabs of one principal share a connection. */
export function connectShared<M extends AnyModel = Untyped>(options: SharedOptions): Client<M> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  const isPossible = locks !== undefined && typeof BroadcastChannel !== 'undefined';
  if (!isPossible) return new Client<M>(options);
  const tabs = new Tabs(options, locks);
  const client = new Client<M>({ ...options, WebSocket: tabs.socketClass() });
  tabs.attach(client);
  return client;
}

class Tabs {
  isLeader = false;
  /** Resolves when it is known whether another tab leads. */
  readonly decided: Promise<void>;
  private readonly name: string;
  private readonly channel: BroadcastChannel;
  private readonly sockets = new Map<string, TabSocket>();
  private readonly hubs = new Map<string, { hub: TabHub; heard: number }>();
  private client: Client | undefined;
  private letGo: (() => void) | undefined;
  private pings: ReturnType<typeof setInterval> | undefined;
  private isEnded = false;

  constructor(readonly options: SharedOptions, private readonly locks: LockManager) {
    this.name = `viewgate ${options.url} ${options.principal}`;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = (event: MessageEvent<Parcel>) => this.receive(event.data);
    this.decided = this.compete();
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

  leave(id: string): void {
    if (this.sockets.delete(id) && !this.isEnded) this.post({ to: 'leader', from: id, text: null });
  }

  post(parcel: Parcel): void {
    this.channel.postMessage(parcel);
  }

  /** First only where nobody leads, so that it is known at once; then for when the leader goes. */
  private async compete(): Promise<void> {
    if (await this.request({ ifAvailable: true })) return;
    void this.request({}).catch(() => undefined);
  }

  private request(options: LockOptions): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const held = this.locks.request(this.name, options, (lock) => {
        resolve(lock !== null);
        if (lock === null || this.isEnded) return undefined;
        this.lead();
        return new Promise<void>((release) => (this.letGo = release));
      });
      held.catch(reject);
    });
  }

  private lead(): void {
    this.isLeader = true;
    this.pings = setInterval(() => this.pingAll(), pingInterval);
    this.post({ to: 'all', code: goingAway });
    for (const socket of [...this.sockets.values()]) socket.over(goingAway);
  }

  private receive(parcel: Parcel): void {
    if (parcel.to === 'leader' && 'from' in parcel) {
      if (this.isLeader && this.client !== undefined) this.serve(parcel.from, parcel.text, this.client);
      return;
    }
    const to = parcel.to === 'all' ? [...this.sockets.values()] : [this.sockets.get(parcel.to)];
    for (const socket of to) {
      if ('code' in parcel) socket?.over(parcel.code);
      else if (parcel.text !== null) socket?.heard(parcel.text);
    }
  }

  private serve(from: string, text: string | null, client: Client): void {
    const known = this.hubs.get(from);
    if (text === null) {
      known?.hub.end();
      this.hubs.delete(from);
      return;
    }
    // Of a tab that was given up, or that another leader had: it starts anew.
    if (known === undefined && !text.includes('"hello"')) return this.post({ to: from, code: goingAway });
    const close = (code: number): void => {
      this.hubs.get(from)?.hub.end();
      this.hubs.delete(from);
      this.post({ to: from, code });
    };
    const hub = known?.hub ?? new TabHub(client, { send: (out) => this.post({ to: from, text: out }), close });
    this.hubs.set(from, { hub, heard: Date.now() });
    hub.receive(text);
  }

  private pingAll(): void {
    for (const [id, { hub, heard }] of [...this.hubs]) {
      if (Date.now() - heard < goneAfter) hub.ping();
      else this.serve(id, null, this.client as Client);
    }
  }

  /** The client was closed: another tab may lead. */
  private end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.isLeader = false;
    clearInterval(this.pings);
    for (const id of [...this.hubs.keys()]) {
      this.hubs.get(id)?.hub.end();
      this.post({ to: id, code: goingAway });
    }
    this.hubs.clear();
    this.letGo?.();
  }

  /** The client was started again. */
  private start(): void {
    this.isEnded = false;
    void this.compete();
  }
}

let sockets = 0;

class TabSocket implements SocketLike {
  onopen: Handler = null;
  onmessage: Handler = null;
  onclose: Handler = null;
  onerror: Handler = null;
  readonly id = `${Math.random().toString(36).slice(2)}-${++sockets}`;
  private direct: SocketLike | undefined;
  private isOver = false;

  constructor(private readonly tabs: Tabs, private readonly url: string, private readonly protocol: string) {
    void tabs.decided.then(() => {
      if (this.isOver) return;
      if (tabs.isLeader) return this.connect(() => this.opened());
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
    this.tabs.post({ to: 'leader', from: this.id, text });
  }

  close(code?: number): void {
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
    socket.onmessage = (event: { data: unknown }) => this.heard(String(event.data));
    socket.onclose = (event: { code: number }) => this.over(event.code);
    socket.onerror = () => undefined;
  }
}
