// The life of the subscriptions of one client, apart from the connection: pure, one table, no sockets and no timers.
// SPEC.md beside the sources shows the same table with the reasons.

import { backoff, type Action, type ClientError, type Delay } from './actions.js';
import { Channel, type Channels, type Member, type Shown } from './channels.js';
import type { MisfitError } from './record_set.js';
import type { ErrorDocument, Ready, ResetRequired, Subscribe, Subscribed, Unsubscribed } from './protocol.js';

export type SubscriptionPhase =
  | 'waiting' // for a connection
  | 'asked' // subscribed is to come
  | 'loading' // a snapshot comes
  | 'resuming' // the set of the cursor stays; ready comes
  | 'live' // commits come
  | 'paused' // subscribes again when its timer rings
  | 'failed'; // ended, by the server's decision

export type SubscriptionEvent =
  | 'connected'
  | 'lost'
  | 'subscribed_fresh'
  | 'subscribed_resumed'
  | 'ready'
  | 'reset'
  | 'again' // without a cursor, at once
  | 'pause'
  | 'fail'
  | 'due'; // the timer of `pause`

type Row = { readonly [event in SubscriptionEvent]: SubscriptionPhase };

function row(phase: SubscriptionPhase, moves: Partial<Row>): Row {
  const stay = {
    connected: phase,
    lost: phase,
    subscribed_fresh: phase,
    subscribed_resumed: phase,
    ready: phase,
    reset: phase,
    again: phase,
    pause: phase,
    fail: phase,
    due: phase,
  };
  return { ...stay, ...moves };
}

const onSocket = { lost: 'waiting', again: 'asked', pause: 'paused', fail: 'failed' } as const;

/** phase × event → phase. What is not a move is ignored: it is about something that is over. */
export const subscriptionTable: { readonly [phase in SubscriptionPhase]: Row } = {
  waiting: row('waiting', { connected: 'asked' }),
  asked: row('asked', { ...onSocket, subscribed_fresh: 'loading', subscribed_resumed: 'resuming' }),
  loading: row('loading', { ...onSocket, ready: 'live', reset: 'asked' }),
  resuming: row('resuming', { ...onSocket, ready: 'live', reset: 'asked' }),
  live: row('live', { ...onSocket, reset: 'asked' }),
  paused: row('paused', { due: 'waiting' }),
  failed: row('failed', {}),
};

export interface Subscription extends Member {
  /** Names it inside this client; on each attempt the server hears a new id, so an answer to an old one finds nobody. */
  readonly number: number;
  readonly space: string;
  readonly view: string;
  readonly params: object;
  phase: SubscriptionPhase;
  wire: string | undefined;
  /** Of the last `subscribed`. */
  context: string | undefined;
  /** Of the set that is shown: with that set's position it is the cursor. */
  shownContext: string | undefined;
  channel: Channel | undefined;
  failures: number;
  resets: number;
  liveSince: number;
  error: ClientError | undefined;
}

/** So many resets in a row are followed at once; each later one waits, longer each time. */
const resetsAtOnce = 3;
/** Live for so long: what happened before is no row any more. */
const settledAfter = 10_000;

export class Subscriptions {
  readonly all = new Map<number, Subscription>();
  private readonly byWire = new Map<string, Subscription>();
  private attempts = 0;
  private isConnected = false;

  constructor(private readonly channels: Channels<Subscription>, private readonly emit: (action: Action) => void) {}

  add(number: number, view: string, space: string, params: object): void {
    const subscription: Subscription = {
      number,
      space,
      view,
      params,
      phase: 'waiting',
      wire: undefined,
      context: undefined,
      shownContext: undefined,
      shown: undefined,
      channel: undefined,
      failures: 0,
      resets: 0,
      liveSince: 0,
      error: undefined,
    };
    this.all.set(number, subscription);
    if (this.isConnected) this.move(subscription, 'connected');
  }

  remove(number: number): void {
    const subscription = this.all.get(number);
    if (subscription === undefined) return;
    this.all.delete(number);
    this.letGo(subscription);
    this.emit({ type: 'clear_timer', name: `subscription:${number}` });
  }

  connected(): void {
    this.isConnected = true;
    for (const subscription of [...this.all.values()]) this.move(subscription, 'connected');
  }

  lost(): void {
    if (!this.isConnected) return;
    this.isConnected = false;
    this.byWire.clear();
    this.channels.clear();
    for (const subscription of this.all.values()) {
      subscription.wire = undefined;
      subscription.channel = undefined;
      this.move(subscription, 'lost');
    }
  }

  /** Another principal: what the one before was shown is not for this one. */
  forgetEverything(): void {
    for (const subscription of this.all.values()) this.forget(subscription, true);
  }

  due(number: number): void {
    const subscription = this.all.get(number);
    if (subscription === undefined) return;
    this.move(subscription, 'due');
    if (this.isConnected) this.move(subscription, 'connected');
  }

  subscribed(document: Subscribed, now: number): void {
    const subscription = this.byWire.get(document.id);
    if (subscription === undefined) return;
    subscription.context = document.context;
    if (document.same_as !== undefined) return this.share(subscription, document.channel, now);
    if (document.resumed && cursorOf(subscription) === undefined) {
      return this.startOver(subscription, now, 'resumed without a cursor');
    }
    const kept = document.resumed ? subscription.shown : undefined;
    const channel = kept ?? new Channel(subscription.space);
    this.leaveChannel(subscription);
    this.channels.open(document.channel, channel, kept === undefined);
    this.enter(subscription, channel, kept === undefined ? 'subscribed_fresh' : 'subscribed_resumed');
  }

  ready(document: Ready, now: number): void {
    const channel = this.channels.find(document.channel);
    if (channel === undefined) return;
    for (const subscription of this.all.values()) {
      if (subscription.channel === channel) this.becomeLive(subscription, now);
    }
    this.channels.ready(document);
  }

  /** A fresh `subscribed` follows by itself. */
  resetRequired(document: ResetRequired, now: number): void {
    const subscription = this.byWire.get(document.id);
    if (subscription === undefined) return;
    this.forget(subscription, document.reason === 'authorization_changed');
    if (this.resetTooOften(subscription, now, document.reason)) return;
    this.leaveChannel(subscription);
    this.move(subscription, 'reset');
  }

  /** The set does not fit what came: it is read anew, and counted like a reset. */
  misfit(subscription: Subscription, error: MisfitError, now: number): void {
    subscription.channel = undefined;
    this.report(subscription, 'misfit', error.message);
    this.startOver(subscription, now, error.message);
  }

  unsubscribed(document: Unsubscribed): void {
    const subscription = this.byWire.get(document.id);
    if (subscription === undefined) return;
    this.byWire.delete(document.id);
    subscription.wire = undefined;
    this.fail(subscription, 'forbidden', 'the caller may not see this view any more');
  }

  failed(document: ErrorDocument): void {
    const subscription = document.id === undefined ? undefined : this.byWire.get(document.id);
    if (subscription === undefined || document.id === undefined) {
      this.emit({ type: 'error', error: { code: document.code, message: document.message } });
      return;
    }
    this.byWire.delete(document.id);
    subscription.wire = undefined;
    const after = document.retry_after;
    if (document.code === 'cursor_invalid' && subscription.shownContext !== undefined) {
      this.forget(subscription, false);
      this.again(subscription);
    } else if (after !== undefined || passing.has(document.code)) {
      this.report(subscription, document.code, document.message);
      this.pause(subscription, after === undefined ? backoff(subscription.failures) : { low: after, high: after * 1.5 });
      subscription.failures++;
    } else {
      this.fail(subscription, document.code, document.message);
    }
  }

  /** Called with everything that became visible, before the application hears of it. */
  wereShown(shown: readonly Shown<Subscription>[]): void {
    for (const { member } of shown) member.shownContext = member.context;
  }

  private move(subscription: Subscription, event: SubscriptionEvent): void {
    const next = subscriptionTable[subscription.phase][event];
    if (next === subscription.phase && event !== 'again') return;
    subscription.phase = next;
    if (next === 'asked' && event !== 'reset') this.ask(subscription);
    this.emit({ type: 'status', subscription });
  }

  private ask(subscription: Subscription): void {
    const wire = `s${++this.attempts}`;
    subscription.wire = wire;
    this.byWire.set(wire, subscription);
    const message: Subscribe = {
      type: 'subscribe',
      id: wire,
      space: subscription.space,
      view: subscription.view,
      params: subscription.params,
    };
    const cursor = cursorOf(subscription);
    if (cursor !== undefined) this.channels.returns(subscription.space, subscription);
    this.emit({ type: 'send', message: cursor === undefined ? message : { ...message, cursor } });
  }

  /** Ends the server's side of it, without a word about why. */
  private letGo(subscription: Subscription): void {
    if (subscription.wire !== undefined) {
      this.byWire.delete(subscription.wire);
      if (this.isConnected) this.emit({ type: 'send', message: { type: 'unsubscribe', id: subscription.wire } });
      subscription.wire = undefined;
    }
    this.leaveChannel(subscription);
    this.channels.returned(subscription.space, subscription);
  }

  /** Another subscription has the same group: this one looks at its set. */
  private share(subscription: Subscription, channelId: string, now: number): void {
    const channel = this.channels.find(channelId);
    if (channel === undefined) return this.startOver(subscription, now, 'the shared channel is gone');
    this.leaveChannel(subscription);
    this.enter(subscription, channel, 'subscribed_fresh');
    if (channel.isReady) this.becomeLive(subscription, now);
  }

  private enter(subscription: Subscription, channel: Channel, event: SubscriptionEvent): void {
    subscription.channel = channel;
    this.move(subscription, event);
    this.channels.join(channel, subscription);
  }

  private becomeLive(subscription: Subscription, now: number): void {
    subscription.failures = 0;
    subscription.error = undefined;
    subscription.liveSince = now;
    this.move(subscription, 'ready');
  }

  private leaveChannel(subscription: Subscription): void {
    const channel = subscription.channel;
    subscription.channel = undefined;
    if (channel !== undefined) this.channels.leave(channel, subscription);
  }

  private again(subscription: Subscription): void {
    this.letGo(subscription);
    this.move(subscription, 'again');
  }

  /** Without a cursor, and counted, so that it does not go round for ever. */
  private startOver(subscription: Subscription, now: number, reason: string): void {
    this.forget(subscription, false);
    if (!this.resetTooOften(subscription, now, reason)) this.again(subscription);
  }

  private pause(subscription: Subscription, delay: Delay): void {
    this.letGo(subscription);
    this.emit({ type: 'set_timer', name: `subscription:${subscription.number}`, ...delay });
    this.move(subscription, 'pause');
  }

  private fail(subscription: Subscription, code: string, message: string): void {
    this.letGo(subscription);
    if (code === 'forbidden') this.forget(subscription, true);
    this.report(subscription, code, message);
    this.move(subscription, 'fail');
  }

  private report(subscription: Subscription, code: string, message: string): void {
    subscription.error = { code, message, subscription };
    this.emit({ type: 'error', error: subscription.error });
  }

  private resetTooOften(subscription: Subscription, now: number, reason: string): boolean {
    const settled = subscription.phase === 'live' && now - subscription.liveSince >= settledAfter;
    subscription.resets = settled ? 1 : subscription.resets + 1;
    const excess = subscription.resets - resetsAtOnce;
    if (excess <= 0) return false;
    if (excess === 1) this.report(subscription, 'reset_loop', `${subscription.resets} resets in a row, the last: ${reason}`);
    this.pause(subscription, backoff(excess));
    return true;
  }

  /** The cursor is void. The set stays to be seen until another replaces it, unless the caller may not see it any more. */
  private forget(subscription: Subscription, hide: boolean): void {
    subscription.shownContext = undefined;
    this.channels.returned(subscription.space, subscription);
    if (!hide || subscription.shown === undefined) return;
    const old = subscription.shown;
    const empty = new Channel(subscription.space);
    subscription.shown = undefined;
    const change = empty.set.difference(old.set, old.sequence);
    if (change.left.length > 0) this.emit({ type: 'shown', shown: [{ member: subscription, change }] });
  }
}

/** Errors that pass by themselves, also where the server names no delay. */
const passing: ReadonlySet<string> = new Set(['unavailable', 'bootstrap_timeout']);

/** What the server needs to go on from the set that is shown. */
export function cursorOf(subscription: Subscription): string | undefined {
  const position = subscription.shown?.position;
  if (subscription.shownContext === undefined || position === undefined) return undefined;
  return `${subscription.shownContext}.${position}`;
}
