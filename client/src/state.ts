// The connection as a pure state machine: events in, actions out; no sockets, no timers, no clock of its own. What the
// subscriptions do is in subscriptions.ts, what is shown when in channels.ts. Which event does what in which phase is the table of
// connection_table.ts; SPEC.md beside the sources has it, too.

import { backoff, soon, type Delay, type Host } from './host.js';
import type { Channels } from './channels.js';
import { isFinal, isSoon, silent } from './codes.js';
import { connectionTable, type ConnectionEvent, type Handlers, type Name, type Phase } from './connection_table.js';
import { decodeDocument, protocolVersion, type ServerDocument, type Welcome } from './protocol.js';
import { Subscriptions, type StoredView, type Subscription } from './subscriptions.js';

export type ConnectionStatus = 'connecting' | 'online' | 'offline' | 'denied' | 'closed';

/** Events of the connection, and those of subscriptions: these mean the same in every phase. */
export type MachineEvent =
  | ConnectionEvent
  | { readonly type: 'subscribe'; readonly subscription: Subscription }
  | { readonly type: 'restored'; readonly number: number; readonly stored: StoredView | undefined }
  | { readonly type: 'unsubscribe'; readonly number: number }
  | { readonly type: 'due'; readonly number: number };

/** For the token provider, and for socket, hello and welcome together. */
const patience = 20_000;
/** Online for so long: the next break is the first in a row. */
const settledAfter = 10_000;

export class Machine {
  phase: Phase = 'idle';
  readonly allSubscriptions: Subscriptions;
  readonly allChannels: Channels<Subscription>;
  welcome: Welcome | undefined;
  /** What the last close said; undefined while online. */
  closedBy: number | undefined;
  isDegraded = false;
  /** Breaks in a row. */
  attempts = 0;

  /** Whose sets are shown: of the token that was accepted last or, before the first, of the storage. */
  principal: string | undefined;
  /** What else `hello` says. */
  moreHello: object = {};

  private now = 0;
  private heard = 0;
  private onlineSince = 0;
  private tokenAsked = false;
  private refreshFailures = 0;
  private tokenSentAt = 0;
  private returnAfter: number | undefined;
  private mayHasten = true;
  /** The application did, since the last close. */
  private wasAsked = false;

  constructor(private readonly runner: Host) {
    this.allSubscriptions = new Subscriptions(runner);
    this.allChannels = this.allSubscriptions.allChannels;
  }

  /** `now`: milliseconds of any clock; only differences count, and a clock that is set back does no harm. */
  takeEvent(event: MachineEvent, now: number): void {
    this.allSubscriptions.now = this.now = now;
    this.heard = Math.min(this.heard, now);
    if (event.type === 'start') this.wasAsked = true;
    switch (event.type) {
      case 'subscribe':
        return this.allSubscriptions.add(event.subscription);
      case 'restored':
        return this.allSubscriptions.restored(event.number, event.stored);
      case 'unsubscribe':
        return this.allSubscriptions.remove(event.number);
      case 'due':
        return this.allSubscriptions.due(event.number);
      default:
        (connectionTable[this.phase] as Partial<Handlers<Name>>)[event.type]?.(this, event as never);
    }
  }

  get status(): ConnectionStatus {
    const { phase } = this;
    if (phase === 'online' || phase === 'denied' || phase === 'closed') return phase;
    return phase === 'waiting' || this.closedBy !== undefined ? 'offline' : 'connecting';
  }

  authorize(): void {
    this.runner.clearTimer('reconnect');
    this.enterPhase('authorizing');
    this.runner.setTimer('patience', patience);
    this.askToken();
  }

  open(): void {
    this.enterPhase('opening');
    this.runner.setTimer('patience', patience);
    try {
      this.runner.openSocket();
    } catch (error) {
      this.giveUp('connection_lost', String(error));
    }
  }

  greet(token: string): void {
    this.enterPhase('greeting');
    this.tokenSentAt = this.now;
    this.runner.sendMessage({ type: 'hello', protocol: protocolVersion, token, ...this.moreHello });
  }

  /** One call of the provider at a time, whoever needs it. */
  askToken(): void {
    if (this.tokenAsked) return;
    this.tokenAsked = true;
    this.runner.getToken();
  }

  /** The provider answered, or failed, or is given up. */
  tokenCame(): void {
    this.tokenAsked = false;
  }

  /** A token for `authorizing` is kept until the socket is open: hello carries it. */
  token = '';

  refresh(token: string): void {
    this.refreshFailures = 0;
    this.tokenSentAt = this.now;
    this.runner.sendMessage({ type: 'refresh', token });
  }

  refreshFailed(message: string): void {
    this.reportOf('token', message);
    this.runner.setTimer('refresh', ...backoff(this.refreshFailures++));
  }

  receive(text: string): void {
    this.heard = this.now;
    try {
      for (const line of text.split('\n')) {
        if (!line) continue;
        const document = decodeDocument(line);
        if (!document) this.runner.unknownDocument(line);
        else this.take(document);
        if (this.phase !== 'online') return;
      }
      this.allChannels.endOfMessage();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.giveUp('protocol', error.message);
    }
  }

  private take(document: ServerDocument): void {
    if (this.phase === 'greeting' && document.type !== 'welcome') throw new SyntaxError('welcome comes first');
    switch (document.type) {
      case 'welcome':
        return this.welcomed(document);
      case 'ping':
        return this.runner.sendMessage({ type: 'pong' });
      case 'subscribed':
      case 'ready':
      case 'unsubscribed':
        return this.allSubscriptions[document.type](document as never);
      case 'snapshot':
      case 'commit':
      case 'progress':
      case 'at':
        return this.allChannels[document.type](document as never);
      case 'reset_required':
        return this.allSubscriptions.resetRequired(document);
      case 'error':
        return this.allSubscriptions.failed(document);
      case 'notice':
        if (document.kind === 'auth_expiring') return this.expiring(document.in ?? 0);
        return this.noticed(document.kind);
      case 'drain':
        this.returnAfter = document.reconnect_after;
    }
  }

  private welcomed(document: Welcome): void {
    const { principal } = document;
    if ((this.principal ?? principal) !== principal) this.forgetEverything();
    this.principal = principal;
    this.welcome = document;
    if (this.phase === 'online') return;
    this.runner.clearTimer('patience');
    this.onlineSince = this.now;
    this.closedBy = undefined;
    this.enterPhase('online');
    this.runner.setTimer('silence', this.silenceAfter());
    this.allSubscriptions.connected(document.message_bytes);
  }

  /** A token whose whole life is shorter than the server's warning must not be replaced the moment it was sent. */
  private expiring(seconds: number): void {
    const half = seconds * 500;
    const age = this.now - this.tokenSentAt;
    if (age >= 0 && age < half) this.runner.setTimer('refresh', half);
    else this.askToken();
  }

  /** Nobody may look at what this principal was shown, here or in the storage. */
  private forgetEverything(): void {
    this.allSubscriptions.forgetEverything();
    this.runner.forgetStored();
  }

  private noticed(kind: string): void {
    this.isDegraded = kind === 'degraded' || (this.isDegraded && kind !== 'restored');
    this.runner.statusChanged();
  }

  private silenceAfter(): number {
    return 2_000 * Math.max(1, (this.welcome as Welcome).heartbeat);
  }

  /** Timers ring late in hidden pages and after sleep, so the clock decides, not the timer. */
  checkSilence(): void {
    const left = this.heard + this.silenceAfter() - this.now;
    if (left > 0) return this.runner.setTimer('silence', left);
    this.drop();
    this.closedBy = silent;
    this.wait(soon);
  }

  closed(code: number): void {
    const told = this.returnAfter;
    this.left();
    // Once for a row of them: the next token may be the same one. But whoever has asked again is told again.
    if (code === 4001 && (this.wasAsked || this.closedBy !== code)) this.reportOf('auth_required', 'the token was refused');
    this.wasAsked = false;
    this.closedBy = code;
    if (isFinal(code)) {
      this.enterPhase('denied');
      // Revoked, or a token of somebody else.
      if (code === 4003 || code === 4005) this.forgetEverything();
      return this.reportOf('denied', `closed with ${code} for good`);
    }
    if (told !== undefined) return this.wait([told], false);
    const before = this.attempts++;
    this.wait(before === 0 && isSoon(code) ? soon : backoff(before), isSoon(code) || code === 1006);
  }

  /** Gives the attempt up; what comes next is `wait`'s. */
  giveUp(code: string, message: string): void {
    this.reportOf(code, message);
    this.drop();
    this.wait(backoff(this.attempts++));
  }

  /** `mayHasten`: a page that becomes visible need not wait so long. Not where the server set the delay. */
  wait(delay: Delay, mayHasten = true): void {
    this.mayHasten = mayHasten;
    this.enterPhase('waiting');
    this.runner.setTimer('reconnect', ...delay);
  }

  hasten(): void {
    if (!this.mayHasten) return;
    this.mayHasten = false;
    this.runner.setTimer('reconnect', ...soon);
  }

  stop(): void {
    this.drop(1000);
    this.runner.clearTimer('reconnect');
    this.enterPhase('closed');
  }

  private drop(code = silent): void {
    this.runner.dropSocket(code);
    this.left();
  }

  private left(): void {
    if (this.phase === 'online' && this.now - this.onlineSince >= settledAfter) this.attempts = 0;
    this.runner.clearTimer('silence');
    this.runner.clearTimer('refresh');
    this.runner.clearTimer('patience');
    this.returnAfter = undefined;
    this.isDegraded = false;
    this.allSubscriptions.lost();
  }

  private enterPhase(phase: Phase): void {
    this.phase = phase;
    this.runner.statusChanged();
    for (const subscription of this.allSubscriptions.all.values()) this.runner.statusChanged(subscription);
  }

  private reportOf(code: string, message: string): void {
    this.runner.tellError({ code, message, connection: this.welcome?.connection });
  }
}
