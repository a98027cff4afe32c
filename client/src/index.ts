// @viewgate/client: live views from a viewgate. See docs/client.md.

import { Client, type ClientOptions } from './socket.js';

/** Connects, and stays connected until `close`. */
export function connect(options: ClientOptions): Client {
  return new Client(options);
}

export type { ClientError } from './actions.js';
export { closeCode, closeCodes, type CloseCode, type Retry } from './codes.js';
export { parseLossless, stringify } from './json.js';
export { compareSequences, type Sequence } from './protocol.js';
export { Client } from './socket.js';
export type {
  ClientOptions,
  ConnectionStatus,
  SocketConstructor,
  SocketLike,
  SubscribeOptions,
  Timers,
} from './socket.js';
export { Item, View, type Change, type Key, type Updated, type ViewStatus } from './view.js';
