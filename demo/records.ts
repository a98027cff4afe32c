// The records of the view as the page orders them: by balance, and by when they changed last. Both follow commit by commit,
// without sorting anything again.

import type { Change, Item, View } from '@viewgate/client';

export interface Account {
  readonly aid: number;
  readonly abalance: number;
}

export type Kind = 'entered' | 'updated' | 'left' | 'deleted';

/** What happened to a record last. */
export interface Mark {
  readonly kind: Kind;
  readonly text: string;
  readonly at: number;
  /** Counts the marks, so that the same thing happening again is seen as another. */
  readonly number: number;
}

export interface Row {
  readonly key: string;
  readonly account: Account;
  readonly mark: Mark | undefined;
}

/** How long a record that left stays to be seen. */
export const farewell = 1_400;
const remembered = 240;

/** Balance first, account second, in one exact number: accounts are below 2^24. */
function rank(account: Account): number {
  return account.abalance * 2 ** 24 + account.aid;
}

export class Records {
  private readonly byBalance: number[] = [];
  private readonly ranks = new Map<number, string>();
  /** Newest last. Records that left are here until their farewell is over. */
  private readonly changed = new Map<string, { account: Account; mark: Mark }>();
  private marks = 0;

  constructor(private readonly view: View<Account>) {}

  apply(change: Change<Account>, now: number): void {
    if (change.kind === 'replaced') this.rebuild();
    const first = change.kind === 'replaced' && change.entered.length > remembered;
    if (change.kind === 'commit') {
      for (const { before, after } of change.updated) {
        this.remove(before);
        this.insert(after);
      }
      for (const item of [...change.left, ...change.deleted]) this.remove(item);
      for (const item of change.entered) this.insert(item);
    }
    if (first) return; // a first set is not news
    for (const item of change.entered) this.mark(item, 'entered', 'entered', now);
    for (const { before, after } of change.updated) {
      const by = after.record.abalance - before.record.abalance;
      this.mark(after, 'updated', `${by < 0 ? '−' : '+'}${Math.abs(by).toLocaleString('en')}`, now);
    }
    for (const item of change.left) this.mark(item, 'left', 'left the view', now);
    for (const item of change.deleted) this.mark(item, 'deleted', 'deleted', now);
  }

  /** The first `count` rows, with those that just left at the places they had. */
  rows(order: 'recent' | 'balance', count: number, now: number): Row[] {
    for (const [key, { mark }] of this.changed) {
      if (isGone(mark) && now - mark.at > farewell) this.changed.delete(key);
    }
    return order === 'recent' ? this.recent(count) : this.lowest(count);
  }

  /** Milliseconds until a farewell ends; undefined: none is going on. */
  nextEnd(now: number): number | undefined {
    let next: number | undefined;
    for (const { mark } of this.changed.values()) {
      if (isGone(mark)) next = Math.min(next ?? Infinity, mark.at + farewell - now + 1);
    }
    return next;
  }

  private recent(count: number): Row[] {
    const rows: Row[] = [];
    for (const [key, { account, mark }] of [...this.changed].reverse()) {
      if (rows.length >= count) return rows;
      rows.push({ key, account, mark });
    }
    for (const item of this.view.items()) {
      if (rows.length >= count) break;
      if (!this.changed.has(item.key)) rows.push({ key: item.key, account: item.record, mark: undefined });
    }
    return rows;
  }

  private lowest(count: number): Row[] {
    const rows: Row[] = [];
    for (const each of this.byBalance.slice(0, count)) {
      const key = this.ranks.get(each);
      const account = key === undefined ? undefined : this.view.get(key);
      if (key !== undefined && account !== undefined) rows.push({ key, account, mark: this.changed.get(key)?.mark });
    }
    const last = rows.length < count ? Infinity : rank(rows[rows.length - 1]?.account ?? { aid: 0, abalance: 0 });
    for (const [key, { account, mark }] of this.changed) {
      if (isGone(mark) && rank(account) <= last) rows.push({ key, account, mark });
    }
    return rows.sort((a, b) => rank(a.account) - rank(b.account)).slice(0, count);
  }

  private mark(item: Item<Account>, kind: Kind, text: string, at: number): void {
    this.changed.delete(item.key);
    this.changed.set(item.key, { account: item.record, mark: { kind, text, at, number: ++this.marks } });
    if (this.changed.size <= remembered) return;
    for (const key of this.changed.keys()) {
      this.changed.delete(key);
      break;
    }
  }

  private rebuild(): void {
    this.ranks.clear();
    this.byBalance.length = 0;
    for (const item of this.view.items()) {
      const at = rank(item.record);
      this.ranks.set(at, item.key);
      this.byBalance.push(at);
    }
    this.byBalance.sort((a, b) => a - b);
  }

  private insert(item: Item<Account>): void {
    const at = rank(item.record);
    this.ranks.set(at, item.key);
    this.byBalance.splice(this.place(at), 0, at);
  }

  private remove(item: Item<Account>): void {
    const at = rank(item.record);
    const place = this.place(at);
    if (this.byBalance[place] === at) this.byBalance.splice(place, 1);
    this.ranks.delete(at);
  }

  private place(at: number): number {
    let low = 0;
    let high = this.byBalance.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.byBalance[middle] ?? Infinity) < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function isGone(mark: Mark | undefined): boolean {
  return mark?.kind === 'left' || mark?.kind === 'deleted';
}
