// Views that components use: made while rendering, which React may do and throw away, kept while a component is mounted.

import type { Client, View } from '@viewgate/client';

/** A view that nobody holds is closed after so many milliseconds: StrictMode and Suspense let go and come back. */
const linger = 5_000;

/** `code`: that of the view's `error`, or its status. */
export type ViewError = Error & { readonly code: string };

export class Lease<T> {
  /** Until there is a set, or an end. */
  private settling: Promise<void> | undefined;
  private lastError: ViewError | undefined;
  private wasReady = false;
  private holders = 0;
  private isAwaited = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly view: View<T>, private readonly ended: () => void) {
    void this.settled();
    this.letGo();
    // A set that was hidden is no set to see, also where another one is to come: only a view without any stands at zero.
    view.onState(({ cursor, sequence }) => {
      if (cursor !== undefined || sequence === '0') this.wasReady = cursor !== undefined;
    });
  }

  /** There is, or was, a set to see. The promise says so a turn later than the view. */
  get isReady(): boolean {
    return this.view.cursor !== undefined || (this.wasReady && this.error === undefined);
  }

  /** Why there will be none, or why the one that there is gets no commits any more; the same object until that is another. */
  get error(): ViewError | undefined {
    const { status, error, name } = this.view;
    const isOver = status === 'denied' || status === 'failed' || (status === 'closed' && !this.wasReady);
    if (!isOver) return undefined;
    const message = error?.message ?? `the view ${name} is ${status}`;
    const code = error?.code ?? status;
    if (this.lastError?.message !== message || this.lastError.code !== code) this.lastError = Object.assign(new Error(message), { code });
    return this.lastError;
  }

  /** For an effect: returns its end. */
  hold(): () => void {
    clearTimeout(this.timer);
    this.holders++;
    return () => {
      this.holders--;
      this.letGo();
    };
  }

  /** To suspend on. A component that is suspended has no effects, so it holds nothing, however long that takes. */
  wait(): Promise<void> {
    this.isAwaited = true;
    clearTimeout(this.timer);
    return this.settled();
  }

  /** Whoever renders with it may hold it soon. */
  letGo(): void {
    if (this.holders > 0 || this.isAwaited) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.ended();
      this.view.close();
    }, linger);
  }

  /** Each wait has its own end: a client that was refused may be started again. */
  private settled(): Promise<void> {
    const over = (): void => {
      this.settling = undefined;
      this.isAwaited = false;
      this.letGo();
    };
    this.settling ??= this.view
      .whenReady()
      .then(() => void (this.wasReady = true), () => undefined)
      .then(over);
    return this.settling;
  }
}

export class Leases {
  private readonly all = new Map<string, Lease<unknown>>();

  constructor(private readonly client: Client) {}

  of<T>(name: string, space: string, params: object | undefined): Lease<T> {
    const key = JSON.stringify([space, name, params ?? {}], (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
    let lease = this.all.get(key);
    if (lease === undefined) {
      const view = this.client.subscribe<unknown>(name, { space, ...(params && { params }) });
      lease = new Lease(view, () => this.all.delete(key));
      this.all.set(key, lease);
    } else {
      lease.letGo();
    }
    return lease as Lease<T>;
  }
}
