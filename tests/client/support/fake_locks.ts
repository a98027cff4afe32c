// The Web Locks of one origin, in memory: exclusive locks, granted in order.

type Grant = (lock: { name: string } | null) => unknown;

export class FakeLocks {
  private readonly held = new Set<string>();
  private readonly waiting = new Map<string, (() => void)[]>();

  request = (name: string, options: { ifAvailable?: boolean; signal?: AbortSignal }, grant: Grant): Promise<unknown> => {
    if (!this.held.has(name)) return this.hold(name, grant);
    if (options.ifAvailable === true) return Promise.resolve(grant(null));
    return new Promise((resolve, reject) => {
      const queue = this.waiting.get(name) ?? [];
      const granted = (): void => void this.hold(name, grant).then(resolve, reject);
      queue.push(granted);
      this.waiting.set(name, queue);
      options.signal?.addEventListener('abort', () => {
        const at = queue.indexOf(granted);
        if (at < 0) return;
        queue.splice(at, 1);
        reject(new DOMException('aborted', 'AbortError'));
      });
    });
  };

  /** How many wait for a lock. */
  get waiters(): number {
    return [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** All pages end: what they held is free. */
  endPage(): void {
    for (const name of [...this.held]) this.release(name);
  }

  private release(name: string): void {
    this.held.delete(name);
    this.waiting.get(name)?.shift()?.();
  }

  private async hold(name: string, grant: Grant): Promise<unknown> {
    this.held.add(name);
    try {
      return await grant({ name });
    } finally {
      this.release(name);
    }
  }

  /** Makes them those of this process; returns the end of it. */
  install(): () => void {
    const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
    Object.defineProperty(globalThis, 'navigator', { value: { locks: this }, configurable: true });
    return () => {
      if (before === undefined) Reflect.deleteProperty(globalThis, 'navigator');
      else Object.defineProperty(globalThis, 'navigator', before);
    };
  }
}
