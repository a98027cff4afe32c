// The door for mutations of the gateway in memory: numbers, replays, gaps, receipts, over the table of accounts.

import type { Account, Ledger } from './model_gateway.js';

interface Message {
  readonly space: string;
  readonly number: string;
  readonly mutations: readonly {
    readonly kind: 'create' | 'put' | 'update' | 'delete';
    readonly key: readonly [number | string];
    readonly record?: Partial<Account>;
    readonly changed?: Partial<Account>;
    readonly bases?: { readonly record?: string };
  }[];
}

type Answer = { readonly space: string; readonly sequence: number; readonly text: string } | { readonly error: string };

export class Desk {
  /** By client and space: the message and the receipt of 1, 2, 3 … */
  private readonly processed = new Map<string, { readonly body: string; readonly answer: Answer }[]>();
  /** By space and record: the commit that changed it last. */
  private readonly versions = new Map<string, number>();
  /** Mutations that were applied, each once: `client number`. */
  readonly applied: string[] = [];
  replays = 0;
  /** So many of the next messages are answered by an error that passes. */
  unavailable = 0;
  /** So many of the next answers are lost on their way, though the messages were processed. */
  lost = 0;

  constructor(private readonly ledger: Ledger) {}

  process(client: string, message: Message): Answer {
    const { space, number } = message;
    const place = `${client} ${space}`;
    const before = this.processed.get(place) ?? [];
    this.processed.set(place, before);
    const error = (code: string, more = {}): Answer => ({
      error: JSON.stringify({ type: 'error', code, message: `${code} of ${number}`, space, number, ...more }),
    });
    const known = before[Number(number) - 1];
    if (known !== undefined) {
      this.replays++;
      return known.body === JSON.stringify(message) ? known.answer : error('sequence_conflict');
    }
    if (this.unavailable > 0) {
      this.unavailable--;
      return error('unavailable', { retry_after: 20 });
    }
    if (Number(number) !== before.length + 1) return error('sequence_gap', { expected: String(before.length + 1) });
    if (message.mutations.some((each) => each.record?.b === 'wrong' || each.changed?.b === 'wrong')) return error('invalid_value');
    const answer = this.decide(client, message);
    before.push({ body: JSON.stringify(message), answer });
    return answer;
  }

  private decide(client: string, { space, number, mutations }: Message): Answer {
    const states = this.ledger.states(space);
    const next = new Map(states[states.length - 1]);
    const sequence = states.length;
    const receipt = (outcome: string, more = {}): Answer => {
      const receipts = [{ client, number, sequence: String(sequence), outcome, ...more }];
      return { space, sequence, text: JSON.stringify({ type: 'receipts', space, sequence: String(sequence), receipts }) };
    };
    for (const { kind, key, record, changed, bases } of mutations) {
      // As a number or as text, it is one key.
      const id = Number(key[0]);
      const old = next.get(id);
      const version = this.versions.get(`${space} ${id}`) ?? 0;
      const moved = bases?.record !== undefined && Number(bases.record) < version;
      const reason = moved ? 'conflict' : kind === 'create' && old ? 'already_exists' : undefined;
      const missing = (kind === 'update' || kind === 'delete') && !old ? 'not_found' : reason;
      if (missing !== undefined) {
        states.push(new Map(states[states.length - 1]));
        return receipt('rejected', { reason: missing, detail: missing, groups: moved ? { record: String(version) } : undefined });
      }
      if (kind === 'delete') next.delete(id);
      else next.set(id, { a: 0, b: '', ...(kind === 'update' ? old : {}), ...record, ...changed, id });
    }
    const acknowledgement = mutations.map(({ key }) => ({
      collection: 'accounts',
      key: [Number(key[0])],
      versions: { record: String(sequence) },
    }));
    for (const { key } of mutations) this.versions.set(`${space} ${Number(key[0])}`, sequence);
    states.push(next);
    this.applied.push(`${client} ${number}`);
    return receipt('applied', { acknowledgement });
  }
}
