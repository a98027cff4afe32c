// The life of the subscriptions of one client, apart from the connection: pure, one table, no sockets and no timers.
// SPEC.md beside the sources shows the same table with the reasons.

import { backoff, type ClientError, type Delay, type Host } from './host.js';
import { Channel, Channels, type ChannelEvents, type Member, type Shown } from './channels.js';
import type { Parse } from './record_set.js';
import {
  bytesOf,
  encode,
  type ErrorDocument,
  type Ready,
  type ResetRequired,
  type Sequence,
  type Subscribe,
  type Subscribed,
  type Unsubscribed,
} from './protocol.js';

export type SubscriptionPhase =
  | 'restoring' // what is stored of it is being read
  | 'waiting' // for a connection
  | 'asked' // subscribed is to come
  | 'loading' // a snapshot comes
  | 'resuming' // the set of the cursor stays; ready comes
  | 'live' // commits come
  | 'paused' // subscribes again when its timer rings
  | 'failed'; // ended, by the server's decision

export type SubscriptionEvent =
  | 'restored'
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

/** What may happen to whoever has a socket. */
type OnSocket = 'lost' | 'again' | 'pause' | 'fail';
/** The moves of each phase. Whatever is not named is about something that is over: the phase stays. */
interface Moves {
  readonly restoring: 'restored';
  readonly waiting: 'connected';
  readonly asked: OnSocket | 'subscribed_fresh' | 'subscribed_resumed';
  readonly loading: OnSocket | 'ready' | 'reset';
  readonly resuming: OnSocket | 'ready' | 'reset';
  readonly live: OnSocket | 'reset';
  readonly paused: 'due';
  readonly failed: never;
}
type Row<E extends SubscriptionEvent> = { readonly [event in E]: SubscriptionPhase };

const onSocket = { lost: 'waiting', again: 'asked', pause: 'paused', fail: 'failed' } as const;
const onStream = { ...onSocket, ready: 'live', reset: 'asked' } as const;

/** phase × event → phase. The types say that it is complete, a test that it is the table of SPEC.md. */
export const subscriptionTable: { readonly [phase in SubscriptionPhase]: Row<Moves[phase]> } = {
  restoring: { restored: 'waiting' },
  waiting: { connected: 'asked' },
  asked: { ...onSocket, subscribed_fresh: 'loading', subscribed_resumed: 'resuming' },
  loading: onStream,
  resuming: onStream,
  live: { ...onSocket, reset: 'asked' },
  paused: { due: 'waiting' },
  failed: {},
};

/** What an application may ask for. */
export interface ViewName {
  readonly space: string;
  readonly view: string;
  readonly params: object;
}

export interface Subscription extends Member, ViewName {
  /** Names it inside this client; on each attempt the server hears a new id, so an answer to an old one finds nobody. */
  readonly localNumber: number;
  readonly parse: Parse;
  phase: SubscriptionPhase;
  wire?: string | undefined;
  /** Of the last `subscribed`. */
  context?: string | undefined;
  /** Of the set that is shown: with that set's position it is the cursor. */
  shownContext?: string | undefined;
  channel?: Channel | undefined;
  failures: number;
  resets: number;
  liveSince: number;
  error?: ClientError | undefined;
}

/** A set and its cursor, as they were stored together. */
export interface StoredView {
  readonly context: string;
  readonly position: string;
  readonly sequence: Sequence;
  /** Keys and JSON texts. */
  readonly records: Iterable<readonly [key: string, text: string]>;
}

/** `isStored`: `restored` follows. */
export function newSubscription(number: number, name: ViewName, parse: Parse, isStored = false): Subscription {
  return { ...name, localNumber: number, parse, phase: isStored ? 'restoring' : 'waiting', failures: 0, resets: 0, liveSince: 0 };
}

/** So many resets in a row are followed at once; each later one waits, longer each time. */
const resetsAtOnce = 3;
/** Live for so long: what happened before is no row any more. */
const settledAfter = 10_000;

export class Subscriptions implements ChannelEvents<Subscription> {
  readonly allChannels = new Channels<Subscription>(this);
  readonly all = new Map<number, Subscription>();
  /** Of the event that is taken. */
  now = 0;
  private readonly byWire = new Map<string, Subscription>();
  private attempts = 0;
  private isLinked = false;
  private messageBytes = 0;

  constructor(private readonly runner: Host) {}

  add(subscription: Subscription): void {
    this.all.set(subscription.localNumber, subscription);
    if (this.isLinked) this.moveOn(subscription, 'connected');
  }

  /** What was stored is shown at once, and its cursor is the one to go on from. */
  restored(number: number, stored?: StoredView): void {
    const subscription = this.all.get(number);
    if (subscription?.phase !== 'restoring') return;
    if (stored) {
      const channel = newChannel(subscription);
      for (const [key, text] of stored.records) channel.set.add(key, text);
      channel.sequence = stored.sequence;
      channel.position = stored.position;
      subscription.context = stored.context;
      this.allChannels.show(channel, subscription);
    }
    this.moveOn(subscription, 'restored');
    if (this.isLinked) this.moveOn(subscription, 'connected');
  }

  remove(number: number): void {
    const subscription = this.all.get(number);
    if (!subscription) return;
    this.all.delete(number);
    this.letGo(subscription);
    this.runner.clearTimer(number);
  }

  /** `messageBytes`: what the server takes at most. */
  connected(messageBytes = Infinity): void {
    this.isLinked = true;
    this.messageBytes = messageBytes;
    for (const subscription of [...this.all.values()]) this.moveOn(subscription, 'connected');
  }

  lost(): void {
    if (!this.isLinked) return;
    this.isLinked = false;
    this.byWire.clear();
    this.allChannels.clearAll();
    for (const subscription of this.all.values()) {
      subscription.wire = undefined;
      subscription.channel = undefined;
      this.moveOn(subscription, 'lost');
    }
  }

  /** Another principal: what the one before was shown is not for this one, nor what is still being read of it. */
  forgetEverything(): void {
    for (const subscription of this.all.values()) {
      this.restored(subscription.localNumber);
      this.forgetSet(subscription, true);
    }
  }

  due(number: number): void {
    const subscription = this.all.get(number);
    if (!subscription) return;
    this.moveOn(subscription, 'due');
    if (this.isLinked) this.moveOn(subscription, 'connected');
  }

  subscribed(document: Subscribed): void {
    const subscription = this.byWire.get(document.id);
    if (!subscription) return;
    const { channel: id, context, resumed, same_as: sameAs } = document;
    subscription.context = context;
    // Where another subscription has the same group, this one looks at its set.
    const kept = sameAs === undefined ? cursorOf(subscription) && subscription.shown : this.allChannels.channelOf(id);
    const isKept = resumed || sameAs !== undefined;
    const channel = isKept ? kept : newChannel(subscription);
    if (!channel) return this.startOver(subscription, 'no set to go on from');
    this.leaveChannel(subscription);
    if (sameAs === undefined) this.allChannels.openAs(id, channel, !resumed);
    subscription.channel = channel;
    this.moveOn(subscription, resumed ? 'subscribed_resumed' : 'subscribed_fresh');
    this.allChannels.join(channel, subscription);
    if (channel.isReady) this.becomeLive(subscription);
  }

  ready(document: Ready): void {
    const channel = this.allChannels.channelOf(document.channel);
    if (!channel) return;
    for (const subscription of channel.members) this.becomeLive(subscription as Subscription);
    this.allChannels.ready(document);
  }

  /** A fresh `subscribed` follows by itself. */
  resetRequired(document: ResetRequired): void {
    const subscription = this.byWire.get(document.id);
    if (!subscription) return;
    this.startOver(subscription, document.reason, 'reset');
  }

  /** For the channels: the set does not fit what came. It is read anew, and counted like a reset. */
  gaveUp(subscriptions: readonly Subscription[], message: string): void {
    for (const subscription of subscriptions) {
      subscription.channel = undefined;
      this.reportOf(subscription, { code: 'misfit', message });
      this.startOver(subscription, message);
    }
  }

  unsubscribed(document: Unsubscribed): void {
    const subscription = this.ended(document.id);
    if (subscription) this.failWith(subscription, { code: 'forbidden', message: 'not allowed any more' });
  }

  failed(document: ErrorDocument): void {
    const subscription = this.ended(document.id);
    const { code, message, connection, retry_after: after } = document;
    if (!subscription) return this.runner.tellError({ code, message, connection });
    if (code === 'cursor_invalid' && subscription.shownContext !== undefined) {
      this.forgetSet(subscription);
      this.moveOn(subscription, 'again');
    } else if (after !== undefined || passing.includes(code)) {
      this.reportOf(subscription, document);
      this.pauseFor(subscription, after === undefined ? backoff(subscription.failures) : [after, after * 1.5]);
      subscription.failures++;
    } else {
      this.failWith(subscription, document);
    }
  }

  /** For the channels. */
  shown(shown: readonly Shown<Subscription>[]): void {
    for (const { member } of shown) member.shownContext = member.context;
    this.runner.wasShown(shown);
  }

  /** The subscription that the server has ended. */
  private ended(id = ''): Subscription | undefined {
    const subscription = this.byWire.get(id);
    this.byWire.delete(id);
    if (subscription) subscription.wire = undefined;
    return subscription;
  }

  private moveOn(subscription: Subscription, event: SubscriptionEvent): void {
    const { phase } = subscription;
    const next = (subscriptionTable[phase] as Partial<Row<SubscriptionEvent>>)[event] ?? phase;
    if (next === phase && event !== 'again') return;
    subscription.phase = next;
    if (next === 'asked' && event !== 'reset') this.ask(subscription);
    this.runner.statusChanged(subscription);
  }

  private ask(subscription: Subscription): void {
    const id = `s${++this.attempts}`;
    const { space, view, params } = subscription;
    const cursor = cursorOf(subscription);
    const message: Subscribe = { type: 'subscribe', id, space, view, params, ...(cursor && { cursor }) };
    if (bytesOf(encode(message)) > this.messageBytes) {
      return this.failWith(subscription, { code: 'too_large', message: `more than ${this.messageBytes} bytes` });
    }
    subscription.wire = id;
    this.byWire.set(id, subscription);
    if (cursor) this.allChannels.returns(subscription);
    this.runner.sendMessage(message);
  }

  /** Ends the server's side of it, without a word about why. */
  private letGo(subscription: Subscription): void {
    if (subscription.wire) {
      this.byWire.delete(subscription.wire);
      if (this.isLinked) this.runner.sendMessage({ type: 'unsubscribe', id: subscription.wire });
      subscription.wire = undefined;
    }
    this.leaveChannel(subscription);
    this.allChannels.returned(subscription);
  }

  private becomeLive(subscription: Subscription): void {
    subscription.failures = 0;
    subscription.error = undefined;
    subscription.liveSince = this.now;
    this.moveOn(subscription, 'ready');
  }

  private leaveChannel(subscription: Subscription): void {
    const channel = subscription.channel;
    subscription.channel = undefined;
    if (channel) this.allChannels.leave(channel, subscription);
  }

  /** Without a cursor, and counted, so that it does not go round for ever. */
  private startOver(subscription: Subscription, reason: string, event: 'again' | 'reset' = 'again'): void {
    this.forgetSet(subscription, reason === 'authorization_changed');
    const isSettled = subscription.phase === 'live' && this.now - subscription.liveSince >= settledAfter;
    subscription.resets = isSettled ? 1 : subscription.resets + 1;
    const excess = subscription.resets - resetsAtOnce;
    if (excess === 1) this.reportOf(subscription, { code: 'reset_loop', message: `${subscription.resets} resets in a row: ${reason}` });
    if (excess > 0) return this.pauseFor(subscription, backoff(excess));
    if (event === 'again') this.letGo(subscription);
    else this.leaveChannel(subscription);
    this.moveOn(subscription, event);
  }

  private pauseFor(subscription: Subscription, delay: Delay): void {
    this.letGo(subscription);
    this.runner.setTimer(subscription.localNumber, ...delay);
    this.moveOn(subscription, 'pause');
  }

  private failWith(subscription: Subscription, error: ClientError): void {
    this.letGo(subscription);
    if (error.code === 'forbidden') this.forgetSet(subscription, true);
    this.reportOf(subscription, error);
    this.moveOn(subscription, 'fail');
  }

  private reportOf(subscription: Subscription, { code, message, connection }: ClientError): void {
    subscription.error = { code, message, subscription, connection };
    this.runner.tellError(subscription.error);
  }

  /** The cursor is void. The set stays to be seen until another replaces it, unless the caller may not see it any more. */
  private forgetSet(subscription: Subscription, hide = false): void {
    subscription.shownContext = undefined;
    this.allChannels.returned(subscription);
    if (!hide || subscription.shown === undefined) return;
    const { set, sequence } = subscription.shown;
    subscription.shown = undefined;
    this.runner.wasShown([{ member: subscription, change: newChannel(subscription).set.differenceTo(set, sequence) }]);
  }
}

function newChannel(subscription: Subscription): Channel {
  return new Channel(subscription.space, subscription.parse);
}

/** Errors that pass by themselves, also where the server names no delay. */
const passing: readonly string[] = ['unavailable', 'bootstrap_timeout'];

/** What the server needs to go on from the set that is shown. */
export function cursorOf(subscription: Subscription): string | undefined {
  const { shown, shownContext: context } = subscription;
  return context && shown && `${context}.${shown.position}`;
}
