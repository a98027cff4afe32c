// A socket whose server's words are the test's: for what comes in one message, and when.

import type { SocketConstructor, SocketLike } from '@viewgate/client';

export class Line {
  /** What the client sent. */
  readonly received: Record<string, unknown>[] = [];
  /** The client has a socket, and has said hello on it. */
  readonly opened: Promise<void>;
  private socket: SocketLike | undefined;
  private open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => (this.open = resolve));
  }

  socketClass(): SocketConstructor {
    const line = this;
    return class implements SocketLike {
      onopen: ((event: never) => void) | null = null;
      onmessage: ((event: never) => void) | null = null;
      onclose: ((event: never) => void) | null = null;
      onerror: ((event: never) => void) | null = null;

      constructor() {
        line.socket = this;
        void Promise.resolve().then(() => this.onopen?.({} as never));
      }

      send(text: string): void {
        line.received.push(JSON.parse(text) as Record<string, unknown>);
        line.open();
      }

      close(): void {
        line.socket = undefined;
      }
    };
  }

  greet(principal = 'alice'): void {
    this.say({ type: 'welcome', principal, expires_in: 300, heartbeat: 20, message_bytes: 65_536, subscriptions: 128 });
  }

  /** One message. */
  say(...documents: object[]): void {
    this.socket?.onmessage?.({ data: documents.map((document) => JSON.stringify(document)).join('\n') } as never);
  }
}
