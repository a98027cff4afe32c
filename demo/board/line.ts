// The page's line to the gateway: a WebSocket that can be cut and slowed down from here.

import type { SocketLike } from '@viewgate/client';

type Handler = ((event: never) => void) | null;

const slowness = 1_500;

export class Line implements SocketLike {
  static isCut = false;
  static isSlow = false;
  private static readonly open = new Set<Line>();

  onopen: Handler = null;
  onmessage: Handler = null;
  onclose: Handler = null;
  onerror: Handler = null;
  private readonly socket: WebSocket | undefined;
  private isOver = false;
  /** What was delayed keeps its order. */
  private turn = Promise.resolve();

  constructor(url: string, protocol: string) {
    if (Line.isCut) {
      setTimeout(() => this.over(1006), 50);
      return;
    }
    Line.open.add(this);
    this.socket = new WebSocket(url, protocol);
    this.socket.onopen = (event) => this.later(() => (this.onopen as ((event: Event) => void) | null)?.(event));
    this.socket.onmessage = (event) => this.later(() => (this.onmessage as ((event: MessageEvent) => void) | null)?.(event));
    this.socket.onclose = (event) => this.over(event.code);
  }

  /** As if the cable were pulled: nobody is told anything but this page. */
  static cut(isCut: boolean): void {
    Line.isCut = isCut;
    if (isCut) for (const line of [...Line.open]) line.over(1006);
  }

  send(text: string): void {
    this.later(() => {
      if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
    });
  }

  close(code?: number): void {
    this.isOver = true;
    Line.open.delete(this);
    this.socket?.close(code);
  }

  private over(code: number): void {
    if (this.isOver) return;
    this.close();
    (this.onclose as ((event: { code: number }) => void) | null)?.({ code });
  }

  private later(act: () => void): void {
    const wait = Line.isSlow ? slowness : 0;
    if (wait === 0 && !this.isQueued) {
      if (!this.isOver) act();
      return;
    }
    this.queued++;
    const due = Date.now() + wait;
    this.turn = this.turn.then(async () => {
      await new Promise((next) => setTimeout(next, Math.max(0, due - Date.now())));
      this.queued--;
      if (!this.isOver) act();
    });
  }

  private queued = 0;

  private get isQueued(): boolean {
    return this.queued > 0;
  }
}
