// The machine's calls as values: what a test can keep and look at.

import type { Shown } from '../../../client/src/channels.js';
import type { ClientError, Host, TimerName } from '../../../client/src/host.js';
import type { ClientMessage } from '../../../client/src/protocol.js';
import type { MachineEvent } from '../../../client/src/state.js';
import type { Subscription } from '../../../client/src/subscriptions.js';

export type Action =
  | { readonly type: 'get_token' }
  | { readonly type: 'open' }
  | { readonly type: 'send'; readonly message: ClientMessage }
  | { readonly type: 'drop'; readonly code: number }
  | { readonly type: 'set_timer'; readonly name: TimerName; readonly low: number; readonly high: number }
  | { readonly type: 'clear_timer'; readonly name: TimerName }
  | { readonly type: 'connection' }
  | { readonly type: 'status'; readonly subscription: Subscription }
  | { readonly type: 'shown'; readonly shown: readonly Shown<Subscription>[] }
  | { readonly type: 'unknown'; readonly text: string }
  | { readonly type: 'forget' }
  | { readonly type: 'error'; readonly error: ClientError };

export function hostOf(perform: (action: Action) => void): Host {
  return {
    getToken: () => perform({ type: 'get_token' }),
    openSocket: () => perform({ type: 'open' }),
    sendMessage: (message) => perform({ type: 'send', message }),
    dropSocket: (code) => perform({ type: 'drop', code }),
    setTimer: (name, low, high = low) => perform({ type: 'set_timer', name, low, high }),
    clearTimer: (name) => perform({ type: 'clear_timer', name }),
    statusChanged: (subscription) => perform(subscription === undefined ? { type: 'connection' } : { type: 'status', subscription }),
    wasShown: (shown) => perform({ type: 'shown', shown }),
    unknownDocument: (text) => perform({ type: 'unknown', text }),
    forgetStored: () => perform({ type: 'forget' }),
    tellError: (error) => perform({ type: 'error', error }),
  };
}

/** The event of a timer that rings. */
export function ringing(name: TimerName): MachineEvent {
  return typeof name === 'number' ? { type: 'due', number: name } : { type: name };
}
