// Pages that write, on real sockets to the gateway in memory; their time goes twenty times as fast as that of the clock.

import { WebSocket } from 'ws';
import { connect, optimistic, writer, type Client, type MutationStore, type Optimistic, type SocketConstructor, type Timers, type Writer } from '@viewgate/client';
import { FakeServer } from './fake_server.js';
import type { Account } from './model_gateway.js';

export interface WritePage<R extends object> {
  readonly client: Client;
  readonly write: Writer;
  readonly accounts: Optimistic<R>;
}

export interface WritePageOptions {
  readonly store?: MutationStore;
  readonly view?: 'above' | 'overdrawn';
  /** The writer's, in milliseconds of the page. Long where no answer is lost: what waits for one would be sent twice on a busy machine. */
  readonly patience?: number;
}

const fastTimers: Timers = {
  set: (callback, milliseconds) => setTimeout(callback, milliseconds / 20),
  clear: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
  now: () => Date.now() * 20,
  random: () => 0.5,
};

/** `R`: what the pages take a record for. */
export class WritePages<R extends Account = Account> {
  /** Messages of all pages, in order, as they went out. */
  sent: string[] = [];
  private server: FakeServer | undefined;
  private url = '';
  private readonly clients: Client[] = [];

  async start(seed: number): Promise<FakeServer> {
    this.sent = [];
    this.server = new FakeServer(seed);
    this.url = await this.server.listen();
    return this.server;
  }

  async end(): Promise<void> {
    for (const client of this.clients.splice(0)) client.close();
    await this.server?.close();
  }

  connect(timers: Timers = fastTimers): Client {
    const { sent } = this;
    class Recorded extends WebSocket {
      override send(data: string): void {
        sent.push(data);
        super.send(data);
      }
      /** As browsers do, and ws does not. */
      override close(code = 1000): void {
        if (code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException(`a page may not close with ${code}`, 'InvalidAccessError');
        super.close(code);
      }
    }
    const client = connect({ url: this.url, token: () => 'token', timers, WebSocket: Recorded as unknown as SocketConstructor });
    this.clients.push(client);
    return client;
  }

  open({ store, view = 'above', patience = 4_000 }: WritePageOptions = {}): WritePage<R> {
    const client = this.connect();
    const write = writer(client, { patience, ...(store && { store }) });
    const params = view === 'above' ? { low: -10 } : {};
    const accounts = optimistic<R>(write, client.subscribe<R>(view, { space: '1', params }), {
      collection: 'accounts',
      key: ['id'],
      includes: ({ a }) => (view === 'above' ? a >= -10 : a < 0),
    });
    return { client, write, accounts };
  }
}

/** What a page leaves behind for the next one. */
export class Kept implements MutationStore {
  stored: MutationStore['stored'] = [];
  constructor(readonly client: string) {}

  save(space: string, last: number, texts: readonly string[]): Promise<void> {
    this.stored = [...this.stored.filter((each) => each.space !== space), { space, last, texts }];
    return Promise.resolve();
  }
}
