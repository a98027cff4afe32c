// The Web Locks of one origin, in memory: exclusive locks, granted in order.

type Grant = (lock: { name: string } | null) => unknown;

export class FakeLocks {
  /** By name: takes the lock from whoever has it. */
  private readonly held = new Map<string, () => void>();
  private readonly waiting = new Map<string, (() => void)[]>();

  request = (name: string, options: { ifAvailable?: boolean; steal?: boolean; signal?: AbortSignal }, grant: Grant): Promise<unknown> => {
    if (options.steal === true) this.held.get(name)?.();
    if (options.steal === true || !this.held.has(name)) return this.hold(name, grant);
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
    for (const name of [...this.held.keys()]) this.release(name);
  }

  private release(name: string): void {
    this.held.delete(name);
    this.waiting.get(name)?.shift()?.();
  }

  private async hold(name: string, grant: Grant): Promise<unknown> {
    let take: () => void = () => undefined;
    const stolen = new Promise<never>((_, reject) => (take = () => reject(new DOMException('stolen', 'AbortError'))));
    this.held.set(name, take);
    try {
      return await Promise.race([grant({ name }), stolen]);
    } finally {
      if (this.held.get(name) === take) this.release(name);
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
