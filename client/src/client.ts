// Runs the state machine over a real WebSocket and real timers, both injected, and hands what happens to the views.

import type { Shown } from './channels.js';
import type { Extension } from './extension.js';
import type { ClientError, Host, TimerName } from './host.js';
import { Listeners } from './listeners.js';
import type { AnyModel, IfUnknown, Params, ParamsOf, RecordOf, Untyped, ViewNames } from './model.js';
import { encode, subprotocol, type ClientMessage, type Welcome } from './protocol.js';
import { Machine, type ConnectionStatus, type MachineEvent } from './state.js';
import type { Store } from './store.js';
import { newSubscription, type Subscription } from './subscriptions.js';
import { View } from './view.js';

/** The part of the browser's WebSocket that is used; Node's and the ws package's have it too. */
export interface SocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string): void;
  close(code?: number): void;
}

export type SocketConstructor = new (url: string, protocols: string) => SocketLike;

export interface Timers {
  set(callback: () => void, milliseconds: number): unknown;
  clear(handle: unknown): void;
  /** Milliseconds; only differences are used. */
  now(): number;
  /** From 0 to below 1: the jitter. */
  random(): number;
}

export interface ClientOptions {
  /** `wss://host/v1/socket` */
  readonly url: string;
  /** A fresh token; called before every connect and when the server says that the one in use is about to end. */
  readonly token: () => Promise<string> | string;
  /** Of a record's JSON text; default JSON.parse, which rounds what a double cannot hold. See `parseLossless` and `columns`. */
  readonly parse?: (text: string, view: string) => unknown;
  /** Where sets and cursors outlive the page: see `indexedDbStorage`. */
  readonly store?: Store;
  /** Default: the global WebSocket. */
  readonly WebSocket?: SocketConstructor;
  readonly timers?: Timers;
}

/** `params`: values of the view's parameters; bigints are allowed. */
export type SubscribeOptions<P = object> = { readonly space: string } & Params<P>;

export const systemTimers: Timers = {
  set: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clear: (handle) => clearTimeout(handle as Parameters<typeof clearTimeout>[0]),
  now: () => Date.now(),
  random: () => Math.random(),
};

/** The views that share one subscription. */
interface Shared {
  readonly subscription: Subscription;
  readonly views: Set<View<never>>;
}

/** `M`: the model's types, as `viewgate types` writes them; without them every name is one. */
export class Client<M extends AnyModel = Untyped> implements Host {
  private readonly machine = new Machine(this);
  /** Also the writer's. @internal */
  readonly clock: Timers;
  /** For the writer: how the gateway itself is reached, where the options are another way to it. @internal */
  readonly direct: ClientOptions;
  private readonly setTimers = new Map<TimerName, unknown>();
  private readonly sharedViews = new Map<number | string, Shared>();
  private readonly allExtensions: Extension[] = [];
  private readonly stateListeners = new Listeners<Client>();
  private readonly errorListeners = new Listeners<ClientError>();
  private readonly waitingEvents: MachineEvent[] = [];
  private isStepping = false;
  private socket: SocketLike | undefined;
  private tokenCall = 0;
  private lastNumber = 0;
  private returnsAt: number | undefined;
  private stopListening: (() => void) | undefined;

  constructor(private readonly options: ClientOptions, direct = options) {
    this.direct = direct;
    this.clock = options.timers ?? systemTimers;
    this.machine.principal = options.store?.principal;
    this.retry();
  }

  /**
   * Opens a live view. Its records appear when `whenReady` resolves, and follow every commit from then on. Equal calls share
   * one subscription, which lives as long as one of their views is open.
   */
  subscribe<T = Record<string, unknown>>(view: IfUnknown<M['views'], string, never>, options: SubscribeOptions): View<T>;
  subscribe<V extends ViewNames<M>>(view: V, options: SubscribeOptions<ParamsOf<M, V>>): View<RecordOf<M, V>>;
  subscribe<T>(view: string, { space, params = {} }: SubscribeOptions): View<T> {
    const { parse = JSON.parse as (text: string) => unknown, store } = this.options;
    const key = encode([space, view, Object.entries(params).sort()]);
    let shared = this.sharedViews.get(key);
    if (!shared) {
      const number = ++this.lastNumber;
      const subscription = newSubscription(number, { space, view, params }, (text) => parse(text, view), store !== undefined);
      shared = { subscription, views: new Set() };
      this.sharedViews.set(key, shared).set(number, shared);
      this.takeEvent({ type: 'subscribe', subscription });
      void store?.load(subscription).then((stored) => this.takeEvent({ type: 'restored', number, stored }));
    }
    const { subscription, views } = shared;
    const opened = new View<T>(this.machine, subscription, (closed) => {
      if (!views.delete(closed as never) || views.size > 0) return;
      this.sharedViews.delete(key);
      this.sharedViews.delete(subscription.localNumber);
      this.takeEvent({ type: 'unsubscribe', number: subscription.localNumber });
    });
    views.add(opened as never);
    return opened;
  }

  get status(): ConnectionStatus {
    return this.machine.status;
  }

  /** Whose token was accepted last; before the first, whose storage it is. */
  get principal(): string | undefined {
    return this.machine.principal;
  }

  /** What the server's log calls the socket that was welcomed last: for whoever reports what went wrong. */
  get connection(): string | undefined {
    return this.machine.welcome?.connection;
  }

  /** The server cannot follow the database for now; what is shown is not wrong, only not new. */
  get degraded(): boolean {
    return this.machine.isDegraded;
  }

  /** While `offline`: milliseconds until the next try, as far as it is known. */
  get retryIn(): number | undefined {
    return this.returnsAt === undefined ? undefined : Math.max(0, this.returnsAt - this.clock.now());
  }

  /** The code that the last connection was closed with, for `closeName`; undefined while online. */
  get lastClose(): number | undefined {
    return this.machine.closedBy;
  }

  onState(listener: (client: Client) => void): () => void {
    return this.stateListeners.add(listener);
  }

  onError(listener: (error: ClientError) => void): () => void {
    return this.errorListeners.add(listener);
  }

  /** Tries at once; also the way back from `denied` and `closed`. */
  retry(): void {
    this.stopListening ??= whenWoken(() => this.takeEvent({ type: 'woken' }));
    this.takeEvent({ type: 'start' });
  }

  /** Ends the connection and everything that waits. */
  close(): void {
    this.stopListening?.();
    this.stopListening = undefined;
    this.takeEvent({ type: 'stop' });
  }

  /**
   * For what comes beside the core: see extension.ts. Returns what sends a message's text, where there is a connection. One that has greeted
   * without it is made anew.
   */
  extend(extension: Extension): (text: string) => void {
    this.allExtensions.push(extension);
    Object.assign(this.machine.moreHello, extension.greeting);
    if (this.socket) {
      // Browsers let pages say 1000 and their own codes, and nothing else.
      this.dropSocket(1000);
      this.takeEvent({ type: 'closed', code: 1001 });
    }
    return (text) => this.socket?.send(text);
  }

  /** Steps never nest: what application code asks for inside a listener comes after what is going on. */
  private takeEvent(event: MachineEvent): void {
    this.waitingEvents.push(event);
    if (this.isStepping) return;
    this.isStepping = true;
    try {
      for (let next; (next = this.waitingEvents.shift()); ) {
        this.machine.takeEvent(next, this.clock.now());
        for (const extension of this.allExtensions) extension.stepped();
      }
    } finally {
      this.isStepping = false;
    }
  }

  /** For the tabs and for the writer: what the server said last of itself. @internal */
  get welcome(): Welcome | undefined {
    return this.machine.welcome;
  }

  // What follows is for the machine.

  /** @internal */
  sendMessage(message: ClientMessage): void {
    this.socket?.send(encode(message));
  }

  /** @internal */
  statusChanged(of?: Subscription): void {
    if (!of) this.stateListeners.tell(this);
    else for (const view of this.viewsOf(of)) view.stateChanged();
  }

  /** @internal */
  wasShown(shown: readonly Shown<Subscription>[]): void {
    this.options.store?.save(shown);
    for (const { member, change } of shown) for (const view of this.viewsOf(member)) view.shown(change);
  }

  /** @internal */
  unknownDocument(text: string): void {
    for (const extension of this.allExtensions) extension.document(text);
  }

  /** @internal */
  forgetStored(): void {
    this.options.store?.clear();
    for (const extension of this.allExtensions) extension.forget();
  }

  /** @internal */
  tellError(error: ClientError): void {
    this.errorListeners.tell(error);
  }

  /** @internal */
  async getToken(): Promise<void> {
    const call = ++this.tokenCall;
    let event: MachineEvent;
    try {
      event = { type: 'token', token: String(await this.options.token()) };
    } catch (error) {
      event = { type: 'token_failed', message: String(error) };
    }
    if (call === this.tokenCall) this.takeEvent(event);
  }

  /** @internal */
  openSocket(): void {
    const Socket = this.options.WebSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
    if (!Socket) throw new Error('no WebSocket here: pass one as an option');
    const socket = new Socket(this.options.url, subprotocol);
    this.socket = socket;
    // What comes from a socket that was dropped reaches nobody.
    const hear = (event: MachineEvent): void => {
      if (this.socket === socket) this.takeEvent(event);
    };
    socket.onopen = () => hear({ type: 'opened' });
    socket.onmessage = (event: { data: unknown }) => hear({ type: 'message', text: String(event.data) });
    socket.onclose = ({ code }: { code: number }) => hear({ type: 'closed', code });
    // A close follows every error and says more; without a listener some implementations throw.
    socket.onerror = () => undefined;
  }

  /** @internal */
  dropSocket(code: number): void {
    const socket = this.socket;
    this.socket = undefined;
    socket?.close(code);
  }

  /** @internal */
  setTimer(name: TimerName, low: number, high = low): void {
    this.clearTimer(name);
    const milliseconds = low + (high - low) * this.clock.random();
    if (name === 'reconnect') this.returnsAt = this.clock.now() + milliseconds;
    const ring = (): void => {
      this.clearTimer(name);
      this.takeEvent(typeof name === 'number' ? { type: 'due', number: name } : { type: name });
    };
    this.setTimers.set(name, this.clock.set(ring, milliseconds));
  }

  /** @internal */
  clearTimer(name: TimerName): void {
    if (name === 'reconnect') this.returnsAt = undefined;
    this.clock.clear(this.setTimers.get(name));
    this.setTimers.delete(name);
  }

  private viewsOf({ localNumber: number }: Subscription): View<never>[] {
    return [...(this.sharedViews.get(number)?.views ?? [])];
  }
}

/** Tells when a page that may have slept is looked at again, or a network is there again. Nothing where nobody says so. */
function whenWoken(wake: () => void): () => void {
  const { document, addEventListener } = globalThis as Partial<Window & typeof globalThis>;
  const end = new AbortController();
  const woken = (): void => {
    if (document?.visibilityState !== 'hidden') wake();
  };
  for (const name of ['visibilitychange', 'online', 'pageshow']) addEventListener?.(name, woken, { signal: end.signal });
  return () => end.abort();
}
