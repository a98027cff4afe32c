// Pseudo-random numbers from a seed (xorshift of 32 bits): a failing run is repeated by its seed.

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = (seed * 2654435761 + 1) >>> 0 || 1;
    for (let i = 0; i < 8; ++i) this.below(2);
  }

  /** An integer from 0 to n - 1. */
  below(n: number): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x >>> 0;
    return this.state % n;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}

/** `VIEWGATE_SEED` repeats one seed; else `count` seeds from 1. */
export function seeds(count: number): number[] {
  const one = process.env['VIEWGATE_SEED'];
  return one === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(one)];
}
