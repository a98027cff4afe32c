// The gateway in memory behind real sockets: for what the runner and the views do, not for what the gateway does.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { Ledger, Link } from './model_gateway.js';
import { Random } from './random.js';

export class FakeServer {
  readonly ledger = new Ledger();
  readonly random: Random;
  /** Messages of clients, in order. */
  readonly received: Record<string, unknown>[] = [];
  connections = 0;
  /** Who the next connections are. */
  principal = 'alice';
  private readonly sockets = new Map<WebSocket, Link>();
  private readonly http: Server = createServer();
  /** A message beyond what `welcome` says ends the connection with 1009. */
  private readonly server = new WebSocketServer({ server: this.http, maxPayload: 65_536 });
  private readonly turns: ReturnType<typeof setInterval>;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.server.on('connection', (socket) => this.accept(socket));
    this.turns = setInterval(() => this.turn(), 2);
  }

  /** Connections of this moment. */
  get open(): number {
    return this.sockets.size;
  }

  listen(port = 0): Promise<string> {
    return new Promise((resolve) => {
      this.http.listen(port, '127.0.0.1', () => {
        resolve(`ws://127.0.0.1:${(this.http.address() as AddressInfo).port}/v1/socket`);
      });
    });
  }

  /** Breaks every connection without a close frame. */
  cut(): void {
    for (const socket of this.sockets.keys()) socket.terminate();
  }

  /** Closes every connection with this code. */
  end(code: number): void {
    for (const socket of this.sockets.keys()) socket.close(code);
  }

  say(text: string): void {
    for (const socket of this.sockets.keys()) socket.send(text);
  }

  close(): Promise<void> {
    clearInterval(this.turns);
    this.cut();
    this.server.close();
    return new Promise((resolve) => this.http.close(() => resolve()));
  }

  private accept(socket: WebSocket): void {
    this.connections++;
    const link = new Link(this.ledger, this.random, this.principal);
    this.sockets.set(socket, link);
    // Of a message that is too large; the close follows.
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Record<string, unknown>;
      this.received.push(message);
      link.receive(message);
    });
  }

  private turn(): void {
    for (const [socket, link] of this.sockets) {
      const text = link.message();
      if (text !== undefined) socket.send(text);
    }
  }
}

/** Waits for a condition, and gives up loudly. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>, bound = 20_000): Promise<void> {
  for (const end = Date.now() + bound; ; ) {
    if (await condition()) return;
    if (Date.now() > end) throw new Error(`it never came true that ${what}`);
    await new Promise((next) => setTimeout(next, 10));
  }
}
