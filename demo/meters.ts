// The numbers above the records and the list of commits beside them.

import type { Change } from '@viewgate/client';
import type { Account } from './records.js';

const window_ = 3_000;
const history = 60;
const listed = 24;

/** Commits a second: the mean of the last three seconds, and a line of the last minute. */
export class Pace {
  private readonly recent: number[] = [];
  private readonly perSecond: number[] = new Array<number>(history).fill(0);

  constructor(private readonly path: SVGPathElement) {}

  count(now: number): void {
    this.recent.push(now);
    this.perSecond[history - 1] = (this.perSecond[history - 1] ?? 0) + 1;
  }

  perSecondNow(now: number): number {
    let old = 0;
    while (old < this.recent.length && (this.recent[old] ?? now) < now - window_) ++old;
    this.recent.splice(0, old);
    return this.recent.length / (window_ / 1_000);
  }

  /** Called once a second. */
  nextSecond(): void {
    const highest = Math.max(4, ...this.perSecond);
    const step = 120 / (history - 2);
    const points = this.perSecond.slice(0, -1).map((count, i) => `${(i * step).toFixed(1)},${y(count, highest)}`);
    const [first, ...others] = points;
    this.path.setAttribute('d', `M-2,30 L-2,${(first ?? '0,27').split(',')[1] ?? 27} L${[first, ...others].join(' L')} L122,30 Z`);
    this.perSecond.shift();
    this.perSecond.push(0);
  }
}

function y(count: number, highest: number): string {
  return (27 - (count / highest) * 24).toFixed(1);
}

/** The latest commits, newest first; drawn by the frame, however many came. */
export class Ticker {
  private readonly waiting: Change<Account>[] = [];

  constructor(private readonly list: HTMLElement) {}

  add(change: Change<Account>): void {
    this.waiting.push(change);
    if (this.waiting.length > listed) this.waiting.shift();
  }

  clear(): void {
    this.waiting.length = 0;
    this.list.replaceChildren();
  }

  draw(): void {
    for (const change of this.waiting) this.list.prepend(line(change));
    this.waiting.length = 0;
    while (this.list.childElementCount > listed) this.list.lastElementChild?.remove();
  }
}

function line(change: Change<Account>): HTMLElement {
  const item = document.createElement('li');
  const sequence = document.createElement('span');
  sequence.className = 'seq';
  sequence.textContent = `#${Number(change.sequence).toLocaleString('en')}`;
  item.append(sequence);
  if (change.kind === 'replaced') {
    const whole = document.createElement('span');
    whole.className = 'quiet';
    whole.textContent = 'the view was read';
    item.append(whole);
    return item;
  }
  const counts = [
    ['entered', change.entered.length],
    ['updated', change.updated.length],
    ['left', change.left.length],
    ['deleted', change.deleted.length],
  ] as const;
  for (const [kind, count] of counts) {
    if (count === 0) continue;
    const chip = document.createElement('span');
    chip.className = `kind ${kind}`;
    chip.textContent = String(count);
    chip.title = `${count} ${kind === 'updated' ? 'changed' : kind}`;
    item.append(chip);
  }
  return item;
}
