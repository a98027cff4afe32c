// Runs the state machine over a real WebSocket and real timers, both injected, and hands what happens to the views.

import type { Action, ClientError, Delay, TimerName } from './actions.js';
import { parseLossless } from './json.js';
import { encode, subprotocol } from './protocol.js';
import { Machine, type MachineEvent } from './state.js';
import type { Subscription } from './subscriptions.js';
import { View } from './view.js';

/** The part of the browser's WebSocket that is used; Node's and the ws package's have it too. */
export interface SocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
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
  /** Numbers that a double cannot hold become bigint or text, instead of being rounded. */
  readonly lossless?: boolean;
  /** Default: the global WebSocket. */
  readonly WebSocket?: SocketConstructor;
  readonly timers?: Timers;
}

export interface SubscribeOptions {
  readonly space: string;
  /** Values of the view's `params`; bigints are allowed. */
  readonly params?: object;
}

export type ConnectionStatus = 'connecting' | 'online' | 'offline' | 'denied' | 'closed';

const systemTimers: Timers = {
  set: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clear: (handle) => clearTimeout(handle as Parameters<typeof clearTimeout>[0]),
  now: () => Date.now(),
  random: () => Math.random(),
};

export class Client {
  private readonly machine: Machine;
  private readonly timers: Timers;
  private readonly running = new Map<TimerName, unknown>();
  private readonly views = new Map<number, View<never>>();
  private readonly stateListeners = new Set<(client: Client) => void>();
  private readonly errorListeners = new Set<(error: ClientError) => void>();
  private readonly parse: (text: string) => unknown;
  private readonly events: MachineEvent[] = [];
  private isStepping = false;
  private socket: SocketLike | undefined;
  private tokenCall = 0;
  private lastNumber = 0;
  private returnsAt: number | undefined;
  private stopListening: (() => void) | undefined;

  constructor(private readonly options: ClientOptions) {
    this.timers = options.timers ?? systemTimers;
    this.parse = options.lossless === true ? parseLossless : (text) => JSON.parse(text) as unknown;
    this.machine = new Machine((action) => this.perform(action));
    this.retry();
  }

  /** Opens a live view. Its records appear when `whenReady` resolves, and follow every commit from then on. */
  subscribe<T = Record<string, unknown>>(view: string, options: SubscribeOptions): View<T> {
    const number = ++this.lastNumber;
    let last: Subscription | undefined;
    const opened = new View<T>(
      {
        machine: this.machine,
        parse: this.parse,
        unsubscribe: (closed) => {
          this.views.delete(closed);
          this.step({ type: 'unsubscribe', number: closed });
        },
        guard,
      },
      () => (last = this.machine.subscriptions.all.get(number) ?? last),
      number,
      view,
      options.space,
    );
    this.views.set(number, opened as unknown as View<never>);
    this.step({ type: 'subscribe', number, view, space: options.space, params: options.params ?? {} });
    return opened;
  }

  get status(): ConnectionStatus {
    const { phase } = this.machine;
    if (phase === 'online' || phase === 'denied' || phase === 'closed') return phase;
    return phase === 'waiting' || this.machine.lastClose !== undefined ? 'offline' : 'connecting';
  }

  /** Whose token was accepted last. */
  get principal(): string | undefined {
    return this.machine.welcome?.principal;
  }

  /** The server cannot follow the database for now; what is shown is not wrong, only not new. */
  get degraded(): boolean {
    return this.machine.degraded;
  }

  /** While `offline`: milliseconds until the next try, as far as it is known. */
  get retryIn(): number | undefined {
    return this.returnsAt === undefined ? undefined : Math.max(0, this.returnsAt - this.timers.now());
  }

  /** Why the last connection ended, by the name in the table of close codes; undefined while online. */
  get lastClose(): string | undefined {
    return this.machine.lastClose?.name;
  }

  onState(listener: (client: Client) => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  onError(listener: (error: ClientError) => void): () => void {
    this.errorListeners.add(listener);
    return () => this.errorListeners.delete(listener);
  }

  /** Tries at once; also the way back from `denied` and `closed`. */
  retry(): void {
    this.stopListening ??= whenWoken(() => this.step({ type: 'woken' }));
    this.step({ type: 'start' });
  }

  /** Ends the connection and everything that waits. */
  close(): void {
    this.stopListening?.();
    this.stopListening = undefined;
    this.step({ type: 'stop' });
  }

  /** Steps never nest: what application code asks for inside a listener comes after what is going on. */
  private step(event: MachineEvent): void {
    this.events.push(event);
    if (this.isStepping) return;
    this.isStepping = true;
    try {
      for (let next = this.events.shift(); next !== undefined; next = this.events.shift()) {
        this.machine.step(next, this.timers.now());
      }
    } finally {
      this.isStepping = false;
    }
  }

  private perform(action: Action): void {
    switch (action.type) {
      case 'get_token':
        return this.getToken();
      case 'open':
        return this.open();
      case 'send':
        return this.socket?.send(encode(action.message));
      case 'drop':
        return this.drop(action.code, action.reason);
      case 'set_timer':
        return this.setTimer(action.name, action);
      case 'clear_timer':
        return this.clearTimer(action.name);
      case 'connection':
        for (const listener of [...this.stateListeners]) guard(() => listener(this));
        return;
      case 'status':
        return this.views.get(action.subscription.number)?.stateChanged();
      case 'shown':
        for (const { member, change } of action.shown) this.views.get(member.number)?.shown(change);
        return;
      case 'error':
        for (const listener of [...this.errorListeners]) guard(() => listener(action.error));
    }
  }

  private getToken(): void {
    const call = ++this.tokenCall;
    const answer = (event: MachineEvent): void => {
      if (call === this.tokenCall) this.step(event);
    };
    Promise.resolve()
      .then(() => this.options.token())
      .then(
        (token) => answer({ type: 'token', token: String(token) }),
        (error: unknown) => answer({ type: 'token_failed', message: `the token provider failed: ${String(error)}` }),
      );
  }

  private open(): void {
    const Socket = this.options.WebSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
    if (Socket === undefined) throw new Error('there is no WebSocket here: pass one as the option WebSocket');
    const socket = new Socket(this.options.url, subprotocol);
    this.socket = socket;
    const isCurrent = (): boolean => this.socket === socket;
    socket.onopen = () => {
      if (isCurrent()) this.step({ type: 'opened' });
    };
    socket.onmessage = (event: { data: unknown }) => {
      if (isCurrent()) this.step({ type: 'message', text: String(event.data) });
    };
    socket.onclose = (event: { code: number; reason?: unknown }) => {
      if (!isCurrent()) return;
      this.socket = undefined;
      this.step({ type: 'closed', code: event.code, reason: String(event.reason ?? '') });
    };
    // A close follows every error and says more; without a listener some implementations throw.
    socket.onerror = () => undefined;
  }

  private drop(code: number, reason: string): void {
    const socket = this.socket;
    this.socket = undefined;
    socket?.close(code, reason);
  }

  private setTimer(name: TimerName, delay: Delay): void {
    this.clearTimer(name);
    const milliseconds = delay.low + (delay.high - delay.low) * this.timers.random();
    if (name === 'reconnect') this.returnsAt = this.timers.now() + milliseconds;
    const handle = this.timers.set(() => {
      this.running.delete(name);
      if (name === 'reconnect') this.returnsAt = undefined;
      this.step(ringing(name));
    }, milliseconds);
    this.running.set(name, handle);
  }

  private clearTimer(name: TimerName): void {
    if (!this.running.has(name)) return;
    this.timers.clear(this.running.get(name));
    this.running.delete(name);
    if (name === 'reconnect') this.returnsAt = undefined;
  }
}

function ringing(name: TimerName): MachineEvent {
  switch (name) {
    case 'patience':
    case 'silence':
    case 'reconnect':
    case 'refresh':
      return { type: name };
    default:
      return { type: 'due', number: Number(name.slice('subscription:'.length)) };
  }
}

/** Application code must not break the fold that it listens to: what it throws surfaces on its own turn. */
function guard(call: () => void): void {
  try {
    call();
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}

/** Tells when a page that may have slept is looked at again, or a network is there again. Nothing where there is no page. */
function whenWoken(wake: () => void): () => void {
  if (typeof document === 'undefined' || typeof window === 'undefined') return () => undefined;
  const visible = (): void => {
    if (document.visibilityState === 'visible') wake();
  };
  document.addEventListener('visibilitychange', visible);
  window.addEventListener('online', wake);
  window.addEventListener('pageshow', wake);
  return () => {
    document.removeEventListener('visibilitychange', visible);
    window.removeEventListener('online', wake);
    window.removeEventListener('pageshow', wake);
  };
}
