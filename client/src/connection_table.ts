// The phases of a connection, what happens to it, and what the machine does about each in each of them.

import type { Machine } from './state.js';

export type Phase =
  | 'idle' // not started
  | 'authorizing' // the token provider was asked
  | 'opening' // the socket opens
  | 'greeting' // hello was sent
  | 'online'
  | 'waiting' // for the next try
  | 'denied' // a close code that says never
  | 'closed'; // by the application

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

export type Name = ConnectionEvent['type'];
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
export type Handlers<N extends Name> = { readonly [name in N]: Handler<name> };

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
