// What the state machine asks of whoever runs it, and the delays it asks for.

import type { Shown } from './channels.js';
import type { ClientMessage } from './protocol.js';
import type { Subscription } from './subscriptions.js';

/** Something went wrong that the application may want to know of; what happens next is decided already. */
export interface ClientError {
  /** An error code or close code's name of the protocol, or one of this client: token, misfit, reset_loop, protocol. */
  readonly code: string;
  readonly message: string;
  /** The subscription it is about. */
  readonly subscription?: Subscription;
  /** What to give to whoever runs the server: its log says more about it under this id. */
  readonly connection?: string | undefined;
}

/** Milliseconds; the runner draws the delay evenly from the range. Without `high` it is `low`. */
export type Delay = readonly [low: number, high?: number];

/** A number is that of a subscription. */
export type TimerName = 'patience' | 'silence' | 'reconnect' | 'refresh' | number;

/** Whoever runs the machine. Its calls come in order, and none of them calls the machine back. */
export interface Host {
  getToken(): unknown;
  openSocket(): void;
  sendMessage(message: ClientMessage): void;
  /** Close the socket, if there is one, and hear nothing of it any more. */
  dropSocket(code: number): void;
  /** Milliseconds; `high` is `low` where it is not named. */
  setTimer(name: TimerName, low: number, high?: number): void;
  clearTimer(name: TimerName): void;
  /** The status of the connection, or of one subscription, is another. */
  statusChanged(of?: Subscription): void;
  /** One commit became visible, in all views at once. */
  wasShown(shown: readonly Shown<Subscription>[]): void;
  /** A document that only an extension may know. */
  unknownDocument(text: string): void;
  /** What is stored must go. */
  forgetStored(): void;
  tellError(error: ClientError): void;
}

/** The n-th delay in a row (from 0): doubling from a second to half a minute, the upper half of it at random. */
export function backoff(n: number): Delay {
  const high = Math.min(30_000, 1_000 * 2 ** n);
  return [high / 2, high];
}

/** At once, but not everybody in the same moment. */
export const soon: Delay = [0, 500];
