// The state machine with a clock that the test moves: actions are recorded, timers ring when their time has come.

import type { TimerName } from '../../../client/src/host.js';
import type { ClientMessage } from '../../../client/src/protocol.js';
import { Machine, type MachineEvent } from '../../../client/src/state.js';
import { newSubscription, type StoredView, type Subscription } from '../../../client/src/subscriptions.js';
import { hostOf, ringing, type Action } from './host.js';

export class Recorder {
  readonly machine = new Machine(hostOf((action) => this.perform(action)));
  readonly actions: Action[] = [];
  readonly timers = new Map<TimerName, { low: number; high: number; at: number }>();
  now = 1_000;

  step(event: MachineEvent): this {
    this.machine.takeEvent(event, this.now);
    return this;
  }

  message(...documents: object[]): this {
    return this.step({ type: 'message', text: documents.map((document) => JSON.stringify(document)).join('\n') });
  }

  /** From nothing to online. */
  online(principal = 'alice', heartbeat = 20): this {
    if (this.machine.phase === 'idle') this.step({ type: 'start' });
    if (this.machine.phase === 'authorizing') this.step({ type: 'token', token: 'token' });
    this.step({ type: 'opened' });
    const limits = { expires_in: 300, heartbeat, message_bytes: 65536, subscriptions: 128 };
    return this.message({ type: 'welcome', principal, ...limits });
  }

  /** Online again after a break, when its timer has rung. */
  back(): this {
    this.ring('reconnect');
    return this.step({ type: 'token', token: 'token' }).online();
  }

  /** Opens a subscription and answers it: `records` at commit 5. */
  live(number: number, records: object[] = [], space = '1'): this {
    this.subscribe(number, space);
    const channel = `c${number}`;
    this.message(
      { type: 'subscribed', id: this.wire(number), channel, context: `ctx${number}`, resumed: false },
      { type: 'snapshot', channel, records },
      { type: 'ready', channel, sequence: '5', position: 'p5', head: '5' },
    );
    return this;
  }

  subscribe(number: number, space = '1', isStored = false): this {
    const subscription = newSubscription(number, { view: 'v', space, params: {} }, JSON.parse, isStored);
    return this.step({ type: 'subscribe', subscription });
  }

  restored(number: number, stored?: StoredView): this {
    return this.step({ type: 'restored', number, stored });
  }

  wire(number: number): string {
    return this.subscription(number).wire ?? '';
  }

  subscription(number: number): Subscription {
    const found = this.machine.allSubscriptions.all.get(number);
    if (found === undefined) throw new Error(`no subscription ${number}`);
    return found;
  }

  /** Key → text of what is shown. */
  shown(number: number): Record<string, string> {
    const items = this.subscription(number).shown?.set.items.values() ?? [];
    return Object.fromEntries([...items].map((item) => [item.key, item.text]));
  }

  sent(type: string): ClientMessage[] {
    return this.actions.flatMap((action) =>
      action.type === 'send' && action.message.type === type ? [action.message] : [],
    );
  }

  count(type: Action['type']): number {
    return this.actions.filter((action) => action.type === type).length;
  }

  errors(): string[] {
    return this.actions.flatMap((action) => (action.type === 'error' ? [action.error.code] : []));
  }

  delay(name: TimerName): { low: number; high: number } {
    const timer = this.timers.get(name);
    if (timer === undefined) throw new Error(`${name} is not set`);
    return { low: timer.low, high: timer.high };
  }

  ring(name: TimerName): this {
    const timer = this.timers.get(name);
    if (timer === undefined) throw new Error(`${name} is not set`);
    this.timers.delete(name);
    this.now = Math.max(this.now, timer.at);
    return this.step(ringing(name));
  }

  private perform(action: Action): void {
    this.actions.push(action);
    if (action.type === 'set_timer') {
      this.timers.set(action.name, { low: action.low, high: action.high, at: this.now + action.high });
    } else if (action.type === 'clear_timer') {
      this.timers.delete(action.name);
    }
  }
}
