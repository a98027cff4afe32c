// The connection as a pure state machine: events in, actions out; no sockets, no timers, no clock of its own. What the
// subscriptions do is in subscriptions.ts, what is shown when in channels.ts. SPEC.md beside the sources has the tables.

import { backoff, exactly, soon, type Action, type Delay, type TimerName } from './actions.js';
import { Channels } from './channels.js';
import { closeCode, type CloseCode } from './codes.js';
import { decode, protocolVersion, ProtocolError, type ServerDocument, type Welcome } from './protocol.js';
import { Subscriptions, type Subscription } from './subscriptions.js';

export type Phase =
  | 'idle' // not started
  | 'authorizing' // the token provider was asked
  | 'opening' // the socket opens
  | 'greeting' // hello was sent
  | 'online'
  | 'waiting' // for the next try
  | 'denied' // a close code that says never
  | 'closed'; // by the application

/** Events of the connection. The remaining ones (MachineEvent) are of subscriptions and mean the same in every phase. */
export type ConnectionEvent =
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'token_failed'; readonly message: string }
  | { readonly type: 'opened' }
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'closed'; readonly code: number; readonly reason: string }
  /** The page became visible, the network came back, the machine woke. */
  | { readonly type: 'woken' }
  | { readonly type: 'patience' }
  | { readonly type: 'silence' }
  | { readonly type: 'reconnect' }
  | { readonly type: 'refresh' };

export type MachineEvent =
  | ConnectionEvent
  | {
      readonly type: 'subscribe';
      readonly number: number;
      readonly view: string;
      readonly space: string;
      readonly params: object;
    }
  | { readonly type: 'unsubscribe'; readonly number: number }
  | { readonly type: 'due'; readonly number: number };

type Name = ConnectionEvent['type'];
type Handler<N extends Name> = (machine: Machine, event: Extract<ConnectionEvent, { type: N }>) => void;
type Handlers = { readonly [N in Name]: Handler<N> };

/** For the token provider, and for socket, hello and welcome together. */
const patience = 20_000;
/** Online for so long: the next break is the first in a row. */
const settledAfter = 10_000;

export class Machine {
  phase: Phase = 'idle';
  readonly subscriptions: Subscriptions;
  readonly channels: Channels<Subscription>;
  welcome: Welcome | undefined;
  /** What the last close said; undefined while online. */
  lastClose: CloseCode | undefined;
  degraded = false;
  draining = false;
  /** Breaks in a row. */
  attempts = 0;

  private now = 0;
  private heard = 0;
  private onlineSince = 0;
  private tokenAsked = false;
  private refreshFailures = 0;
  private tokenSentAt = 0;
  private returnAfter: number | undefined;
  private mayHasten = true;

  constructor(private readonly emit: (action: Action) => void) {
    this.channels = new Channels<Subscription>({
      shown: (shown) => {
        this.subscriptions.wereShown(shown);
        this.emit({ type: 'shown', shown });
      },
      misfit: (members, error) => {
        for (const member of members) this.subscriptions.misfit(member, error, this.now);
      },
    });
    this.subscriptions = new Subscriptions(this.channels, emit);
  }

  /** `now`: milliseconds of any clock; only differences count, and a clock that is set back does no harm. */
  step(event: MachineEvent, now: number): void {
    this.now = now;
    if (this.heard > now) this.heard = now;
    switch (event.type) {
      case 'subscribe':
        return this.subscriptions.add(event.number, event.view, event.space, event.params);
      case 'unsubscribe':
        return this.subscriptions.remove(event.number);
      case 'due':
        return this.subscriptions.due(event.number);
      default:
        (connectionTable[this.phase][event.type] as (machine: Machine, event: ConnectionEvent) => void)(this, event);
    }
  }

  authorize(): void {
    this.clear('reconnect');
    this.enter('authorizing');
    this.timer('patience', exactly(patience));
    this.askToken();
  }

  open(): void {
    this.enter('opening');
    this.timer('patience', exactly(patience));
    this.emit({ type: 'open' });
  }

  greet(token: string): void {
    this.enter('greeting');
    this.tokenSentAt = this.now;
    this.emit({ type: 'send', message: { type: 'hello', protocol: protocolVersion, token } });
  }

  /** One call of the provider at a time, whoever needs it. */
  askToken(): void {
    if (this.tokenAsked) return;
    this.tokenAsked = true;
    this.emit({ type: 'get_token' });
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
    this.emit({ type: 'send', message: { type: 'refresh', token } });
  }

  refreshFailed(message: string): void {
    this.report('token', message);
    this.timer('refresh', backoff(this.refreshFailures++));
  }

  receive(text: string): void {
    this.heard = this.now;
    try {
      for (const document of decode(text)) {
        this.take(document);
        if (this.phase !== 'online') return;
      }
      this.channels.endOfMessage();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.report('protocol', error.message);
      this.drop('a document that viewgate.v1 does not have');
      this.wait(backoff(this.attempts++));
    }
  }

  private take(document: ServerDocument): void {
    if (this.phase === 'greeting' && document.type !== 'welcome') throw new ProtocolError('welcome comes first');
    switch (document.type) {
      case 'welcome':
        return this.welcomed(document);
      case 'ping':
        return this.emit({ type: 'send', message: { type: 'pong' } });
      case 'subscribed':
        return this.subscriptions.subscribed(document, this.now);
      case 'snapshot':
        return this.channels.snapshot(document);
      case 'ready':
        return this.subscriptions.ready(document, this.now);
      case 'commit':
        return this.channels.commit(document);
      case 'progress':
        return this.channels.progress(document);
      case 'at':
        return this.channels.at(document);
      case 'reset_required':
        return this.subscriptions.resetRequired(document, this.now);
      case 'unsubscribed':
        return this.subscriptions.unsubscribed(document);
      case 'error':
        return this.subscriptions.failed(document);
      case 'notice':
        if (document.kind === 'auth_expiring') return this.expiring(document.in ?? 0);
        return this.noticed(document.kind);
      case 'drain':
        this.returnAfter = document.reconnect_after;
        return this.noticed('draining');
    }
  }

  private welcomed(document: Welcome): void {
    if (this.welcome !== undefined && this.welcome.principal !== document.principal) this.subscriptions.forgetEverything();
    this.welcome = document;
    if (this.phase === 'online') return;
    this.clear('patience');
    this.onlineSince = this.now;
    this.lastClose = undefined;
    this.enter('online');
    this.timer('silence', exactly(this.silenceAfter()));
    this.subscriptions.connected();
  }

  /** A token whose whole life is shorter than the server's warning must not be replaced the moment it was sent. */
  private expiring(seconds: number): void {
    const half = seconds * 500;
    const age = this.now - this.tokenSentAt;
    if (age >= 0 && age < half) this.timer('refresh', exactly(half));
    else this.askToken();
  }

  private noticed(kind: string): void {
    if (kind === 'degraded') this.degraded = true;
    else if (kind === 'restored') this.degraded = false;
    else if (kind === 'draining') this.draining = true;
    this.emit({ type: 'connection' });
  }

  private silenceAfter(): number {
    return 2_000 * Math.max(1, this.welcome?.heartbeat ?? 20);
  }

  /** Timers ring late in hidden pages and after sleep, so the clock decides, not the timer. */
  checkSilence(): void {
    const left = this.heard + this.silenceAfter() - this.now;
    if (left > 0) return this.timer('silence', exactly(left));
    this.drop('nothing was heard for two heartbeats');
    this.lastClose = { code: 0, name: 'silence', retry: 'at_once' };
    this.wait(soon);
  }

  closed(code: number): void {
    const known = closeCode(code);
    if (this.phase === 'online' && this.now - this.onlineSince >= settledAfter) this.attempts = 0;
    const told = this.returnAfter;
    this.left();
    this.lastClose = known;
    if (known.retry === 'never') {
      this.enter('denied');
      this.report(known.name, `the server closed with ${code} (${known.name}), which is final`);
      return;
    }
    if (told !== undefined) return this.wait(exactly(told), false);
    const first = this.attempts++ === 0 && known.retry !== 'later';
    this.wait(first ? soon : backoff(this.attempts - 1), known.retry !== 'later' || code === 1006);
  }

  /** Gives the attempt up; what comes next is `wait`'s. */
  giveUp(code: string, message: string): void {
    this.report(code, message);
    this.drop(message);
    this.wait(backoff(this.attempts++));
  }

  /** `mayHasten`: a page that becomes visible need not wait so long. Not where the server set the delay. */
  wait(delay: Delay, mayHasten = true): void {
    this.mayHasten = mayHasten;
    this.enter('waiting');
    this.timer('reconnect', delay);
  }

  hasten(): void {
    if (!this.mayHasten) return;
    this.mayHasten = false;
    this.timer('reconnect', soon);
  }

  stop(): void {
    this.drop('closed by the application', 1000);
    this.clear('reconnect');
    this.enter('closed');
  }

  drop(reason: string, code = 3000): void {
    this.emit({ type: 'drop', code, reason });
    this.left();
  }

  private left(): void {
    this.clear('silence');
    this.clear('refresh');
    this.clear('patience');
    this.returnAfter = undefined;
    this.degraded = false;
    this.draining = false;
    this.subscriptions.lost();
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    this.emit({ type: 'connection' });
    for (const subscription of this.subscriptions.all.values()) this.emit({ type: 'status', subscription });
  }

  private report(code: string, message: string): void {
    this.emit({ type: 'error', error: { code, message } });
  }

  private timer(name: TimerName, delay: Delay): void {
    this.emit({ type: 'set_timer', name, ...delay });
  }

  private clear(name: TimerName): void {
    this.emit({ type: 'clear_timer', name });
  }
}

const ignore = (): void => undefined;

/** In every phase a token's coming ends the call; where nobody waits for it, it is not used. */
const tokenInVain: Pick<Handlers, 'token' | 'token_failed'> = {
  token: (machine) => machine.tokenCame(),
  token_failed: (machine) => machine.tokenCame(),
};

const nothing: Handlers = {
  start: ignore,
  stop: (machine) => machine.stop(),
  ...tokenInVain,
  opened: ignore,
  message: ignore,
  closed: ignore,
  woken: ignore,
  patience: ignore,
  silence: ignore,
  reconnect: ignore,
  refresh: ignore,
};

const authorize = (machine: Machine): void => machine.authorize();
const closed: Handler<'closed'> = (machine, event) => machine.closed(event.code);
const message: Handler<'message'> = (machine, event) => machine.receive(event.text);

/** phase × event: what is not named is ignored, for the reason that SPEC.md gives. */
export const connectionTable: { readonly [phase in Phase]: Handlers } = {
  idle: { ...nothing, start: authorize },
  authorizing: {
    ...nothing,
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
      machine.giveUp('token', 'the token provider did not answer in time');
    },
  },
  opening: {
    ...nothing,
    opened: (machine) => machine.greet(machine.token),
    closed,
    patience: (machine) => machine.giveUp('connection_lost', 'the socket did not open in time'),
  },
  greeting: {
    ...nothing,
    message,
    closed,
    patience: (machine) => machine.giveUp('connection_lost', 'no welcome in time'),
  },
  online: {
    ...nothing,
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
  waiting: { ...nothing, reconnect: authorize, start: authorize, woken: (machine) => machine.hasten() },
  denied: { ...nothing, start: authorize },
  closed: { ...nothing, stop: ignore, start: authorize },
};
