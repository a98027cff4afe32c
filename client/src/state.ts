// The connection as a pure state machine: events in, actions out; no sockets, no timers, no clock of its own. What the
// subscriptions do is in subscriptions.ts, what is shown when in channels.ts. SPEC.md beside the sources has the tables.

import { backoff, exactly, soon, type Delay, type Host } from './host.js';
import { Channels } from './channels.js';
import { retryAfter, silent } from './codes.js';
import { decodeDocument, protocolVersion, type ServerDocument, type Welcome } from './protocol.js';
import { Subscriptions, type StoredView, type Subscription } from './subscriptions.js';

export type Phase =
  | 'idle' // not started
  | 'authorizing' // the token provider was asked
  | 'opening' // the socket opens
  | 'greeting' // hello was sent
  | 'online'
  | 'waiting' // for the next try
  | 'denied' // a close code that says never
  | 'closed'; // by the application

export type ConnectionStatus = 'connecting' | 'online' | 'offline' | 'denied' | 'closed';

/** Events of the connection. The remaining ones (MachineEvent) are of subscriptions and mean the same in every phase. */
export type ConnectionEvent =
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'token_failed'; readonly message: string }
  | { readonly type: 'opened' }
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'closed'; readonly code: number }
  /** The page became visible, the network came back, the machine woke. */
  | { readonly type: 'woken' }
  | { readonly type: 'patience' }
  | { readonly type: 'silence' }
  | { readonly type: 'reconnect' }
  | { readonly type: 'refresh' };

export type MachineEvent =
  | ConnectionEvent
  | { readonly type: 'subscribe'; readonly subscription: Subscription; readonly isStored: boolean }
  | { readonly type: 'restored'; readonly number: number; readonly stored: StoredView | undefined }
  | { readonly type: 'unsubscribe'; readonly number: number }
  | { readonly type: 'due'; readonly number: number };

type Name = ConnectionEvent['type'];
type Handler<N extends Name> = (machine: Machine, event: Extract<ConnectionEvent, { type: N }>) => void;
/** What every phase hears, and what each one hears besides. Whatever is not named is about something that is over: it is ignored. */
type Always = 'stop' | 'token' | 'token_failed';
interface Heard {
  readonly idle: 'start';
  readonly authorizing: 'patience';
  readonly opening: 'opened' | 'closed' | 'patience';
  readonly greeting: 'message' | 'closed' | 'patience';
  readonly online: 'message' | 'closed' | 'refresh' | 'silence' | 'woken';
  readonly waiting: 'start' | 'reconnect' | 'woken';
  readonly denied: 'start';
  readonly closed: 'start';
}
type Handlers<N extends Name> = { readonly [name in N]: Handler<name> };

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

  constructor(private readonly runner: Host) {
    this.allChannels = new Channels<Subscription>({
      shown: (shown) => {
        this.allSubscriptions.wereShown(shown);
        this.runner.wasShown(shown);
      },
      gaveUp: (members, reason) => {
        for (const member of members) this.allSubscriptions.doesNotFit(member, reason, this.now);
      },
    });
    this.allSubscriptions = new Subscriptions(this.allChannels, runner);
  }

  /** `now`: milliseconds of any clock; only differences count, and a clock that is set back does no harm. */
  takeEvent(event: MachineEvent, now: number): void {
    this.now = now;
    if (this.heard > now) this.heard = now;
    switch (event.type) {
      case 'subscribe':
        return this.allSubscriptions.add(event.subscription, event.isStored);
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
    this.runner.setTimer('patience', exactly(patience));
    this.askToken();
  }

  open(): void {
    this.enterPhase('opening');
    this.runner.setTimer('patience', exactly(patience));
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

  /** The provider answered, or failed. */
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
    this.runner.setTimer('refresh', backoff(this.refreshFailures++));
  }

  receive(text: string): void {
    this.heard = this.now;
    try {
      for (const line of text.split('\n')) {
        if (line === '') continue;
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
        return this.allSubscriptions.subscribed(document, this.now);
      case 'snapshot':
        return this.allChannels.snapshot(document);
      case 'ready':
        return this.allSubscriptions.ready(document, this.now);
      case 'commit':
        return this.allChannels.commit(document);
      case 'progress':
        return this.allChannels.progress(document);
      case 'at':
        return this.allChannels.at(document);
      case 'reset_required':
        return this.allSubscriptions.resetRequired(document, this.now);
      case 'unsubscribed':
        return this.allSubscriptions.unsubscribed(document);
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
    if (this.principal !== undefined && this.principal !== principal) this.forgetEverything();
    this.principal = principal;
    this.welcome = document;
    if (this.phase === 'online') return;
    this.runner.clearTimer('patience');
    this.onlineSince = this.now;
    this.closedBy = undefined;
    this.enterPhase('online');
    this.runner.setTimer('silence', exactly(this.silenceAfter()));
    this.allSubscriptions.connected();
  }

  /** A token whose whole life is shorter than the server's warning must not be replaced the moment it was sent. */
  private expiring(seconds: number): void {
    const half = seconds * 500;
    const age = this.now - this.tokenSentAt;
    if (age >= 0 && age < half) this.runner.setTimer('refresh', exactly(half));
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
    return 2_000 * Math.max(1, this.welcome?.heartbeat ?? 20);
  }

  /** Timers ring late in hidden pages and after sleep, so the clock decides, not the timer. */
  checkSilence(): void {
    const left = this.heard + this.silenceAfter() - this.now;
    if (left > 0) return this.runner.setTimer('silence', exactly(left));
    this.drop();
    this.closedBy = silent;
    this.wait(soon);
  }

  closed(code: number): void {
    const retry = retryAfter(code);
    if (this.phase === 'online' && this.now - this.onlineSince >= settledAfter) this.attempts = 0;
    const told = this.returnAfter;
    this.left();
    this.closedBy = code;
    if (retry === 'never') {
      this.enterPhase('denied');
      // Revoked, or a token of somebody else.
      if (code === 4003 || code === 4005) this.forgetEverything();
      return this.reportOf('denied', `closed with ${code} for good`);
    }
    if (told !== undefined) return this.wait(exactly(told), false);
    const first = this.attempts++ === 0 && retry !== 'later';
    this.wait(first ? soon : backoff(this.attempts - 1), retry !== 'later' || code === 1006);
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
    this.runner.setTimer('reconnect', delay);
  }

  hasten(): void {
    if (!this.mayHasten) return;
    this.mayHasten = false;
    this.runner.setTimer('reconnect', soon);
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
    this.runner.tellError({ code, message });
  }
}

const late = 'no answer in time';

const always: Handlers<Always> = {
  stop: (machine) => machine.stop(),
  // In every phase a token's coming ends the call; where nobody waits for it, it is not used.
  token: (machine) => machine.tokenCame(),
  token_failed: (machine) => machine.tokenCame(),
};

const authorize = (machine: Machine): void => machine.authorize();
const startable: Handlers<Always | 'start'> = { ...always, start: authorize };
const closed: Handler<'closed'> = (machine, event) => machine.closed(event.code);
const message: Handler<'message'> = (machine, event) => machine.receive(event.text);

/** phase × event. The types say that it is complete, a test that it is the table of SPEC.md. */
export const connectionTable: { readonly [phase in Phase]: Handlers<Always | Heard[phase]> } = {
  idle: startable,
  authorizing: {
    ...always,
    token: (machine, event) => {
      machine.tokenCame();
      machine.token = event.token;
      machine.open();
    },
    token_failed: (machine, event) => {
      machine.tokenCame();
      machine.giveUp('token', event.message);
    },
    patience: (machine) => {
      machine.tokenCame();
      machine.giveUp('token', late);
    },
  },
  opening: {
    ...always,
    opened: (machine) => machine.greet(machine.token),
    closed,
    patience: (machine) => machine.giveUp('connection_lost', late),
  },
  greeting: {
    ...always,
    message,
    closed,
    patience: (machine) => machine.giveUp('connection_lost', late),
  },
  online: {
    ...always,
    message,
    closed,
    token: (machine, event) => {
      machine.tokenCame();
      machine.refresh(event.token);
    },
    token_failed: (machine, event) => {
      machine.tokenCame();
      machine.refreshFailed(event.message);
    },
    refresh: (machine) => machine.askToken(),
    silence: (machine) => machine.checkSilence(),
    woken: (machine) => machine.checkSilence(),
  },
  waiting: { ...startable, reconnect: authorize, woken: (machine) => machine.hasten() },
  denied: startable,
  closed: { ...startable, stop: () => undefined },
};
