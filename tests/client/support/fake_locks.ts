// The Web Locks of one origin, in memory: exclusive locks, granted in order.

type Grant = (lock: { name: string } | null) => unknown;

export class FakeLocks {
  private readonly held = new Set<string>();
  private readonly waiting = new Map<string, (() => void)[]>();

  request = (name: string, options: { ifAvailable?: boolean }, grant: Grant): Promise<unknown> => {
    if (!this.held.has(name)) return this.hold(name, grant);
    if (options.ifAvailable === true) return Promise.resolve(grant(null));
    return new Promise((resolve, reject) => {
      const queue = this.waiting.get(name) ?? [];
      queue.push(() => void this.hold(name, grant).then(resolve, reject));
      this.waiting.set(name, queue);
    });
  };

  private async hold(name: string, grant: Grant): Promise<unknown> {
    this.held.add(name);
    try {
      return await grant({ name });
    } finally {
      this.held.delete(name);
      this.waiting.get(name)?.shift()?.();
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
