// @viewgate/client: live views from a viewgate. See docs/client.md.

import { Client, type ClientOptions } from './client.js';
import type { AnyModel, Untyped } from './model.js';

/** Connects, and stays connected until `close`. */
export function connect<M extends AnyModel = Untyped>(options: ClientOptions): Client<M> {
  return new Client<M>(options);
}

export type { ClientError } from './host.js';
export { Client } from './client.js';
export type { ClientOptions, SocketConstructor, SocketLike, SubscribeOptions, Timers } from './client.js';
export { closeName } from './codes.js';
export type { Extension } from './extension.js';
export type { AnyModel, MutationOf, Params, ParamsOf, RecordOf, ViewNames } from './model.js';
export { bigint, columns, date, digits, float, parseLossless, stringify, type Column } from './numbers.js';
export { indexedDbStorage, type Storage, type StorageOptions } from './indexed_db.js';
export { ordered, Ordered, type OrderOptions } from './order.js';
export { compareSequences, type Sequence } from './protocol.js';
export { Item, type Change, type Origin, type Updated } from './record_set.js';
export type { ConnectionStatus } from './state.js';
export type { Store } from './store.js';
export { optimistic, Optimistic, type OptimisticOptions } from './optimistic.js';
export type { Mutation, Receipt } from './protocol_write.js';
export { connectShared, type SharedOptions } from './tabs.js';
export { View, type Collection, type Key, type ViewStatus } from './view.js';
export { MutationRejected, type MutateOptions } from './write_queue.js';
export { writer, Writer, type MutationStore, type Pending, type WriterOptions } from './writer.js';
