// Draws rows: each has an element of its own, which moves to its place and flashes when something happened to its record.

import { isGone, type Row } from './records.js';

interface Drawn {
  readonly element: HTMLElement;
  readonly number: HTMLElement;
  readonly gauge: HTMLElement;
  readonly what: HTMLElement;
  mark: number;
}

export class Table {
  private readonly drawn = new Map<string, Drawn>();

  /** A balance as long as the gauge. */
  scale = 1;

  constructor(private readonly container: HTMLElement) {}

  draw(rows: readonly Row[]): void {
    const height = this.rowHeight();
    const wanted = new Set<string>();
    rows.forEach((row, index) => {
      wanted.add(row.key);
      const drawn = this.drawn.get(row.key) ?? this.add(row, index * height);
      this.update(drawn, row);
      drawn.element.style.transform = `translateY(${index * height}px)`;
      drawn.element.setAttribute('aria-rowindex', String(index + 2));
    });
    for (const [key, { element }] of this.drawn) {
      if (wanted.has(key)) continue;
      element.remove();
      this.drawn.delete(key);
    }
  }

  private add(row: Row, top: number): Drawn {
    const cell = (name: string): HTMLElement => {
      const element = document.createElement('span');
      element.className = name;
      return element;
    };
    const element = document.createElement('div');
    element.setAttribute('role', 'row');
    element.style.transform = `translateY(${top}px)`;
    const account = cell('account');
    const balance = cell('balance');
    const number = cell('number');
    const gauge = cell('gauge');
    const what = cell('what');
    for (const each of [account, balance, what]) each.setAttribute('role', 'cell');
    gauge.setAttribute('aria-hidden', 'true');
    account.textContent = row.account.aid.toLocaleString('en');
    balance.append(number, gauge);
    element.append(account, balance, what);
    this.container.append(element);
    const drawn = { element, number, gauge, what, mark: -1 };
    this.drawn.set(row.key, drawn);
    return drawn;
  }

  private update(drawn: Drawn, row: Row): void {
    const { mark, account } = row;
    const number = mark?.number ?? 0;
    if (drawn.mark === number) return;
    const isFirst = drawn.mark === -1;
    drawn.mark = number;
    drawn.number.textContent = account.abalance.toLocaleString('en').replace('-', '−');
    drawn.gauge.style.setProperty('--share', `${Math.min(100, (Math.abs(account.abalance) / this.scale) * 100)}%`);
    drawn.what.textContent = mark?.text ?? '';
    // An old mark on a row that only now comes into sight is told, but does not flash.
    const flashes = mark !== undefined && !(isFirst && performance.now() - mark.at > 300);
    const flash = flashes ? (drawn.element.classList.contains('flash-a') ? ' flash-b' : ' flash-a') : '';
    drawn.element.className = `row ${mark?.kind ?? ''}${isGone(mark) ? '' : flash}`;
  }

  private rowHeight(): number {
    return 2.25 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }
}
