// Goal: whatever the server says within the protocol, and whenever the link breaks, what a view shows is the view's query at
// the commit that it names; the views of one space stand at one commit together; nothing comes twice; in the end everybody
// is at the head. Method: the state machine against a gateway in memory, both driven from one seed.

import { describe, expect, it } from 'vitest';
import type { TimerName } from '../../../client/src/host.js';
import { Machine } from '../../../client/src/state.js';
import { cursorOf, newSubscription, type Subscription } from '../../../client/src/subscriptions.js';
import { hostOf, ringing, type Action } from '../support/host.js';
import { Ledger, Link, query } from '../support/model_gateway.js';
import { Random, seeds } from '../support/random.js';

const spaces = ['1', '2'];

class World {
  readonly ledger = new Ledger();
  readonly machine: Machine;
  link: Link | undefined;
  now = 0;
  commitsShown = 0;
  /** Commits after which several views of a space were compared. */
  together = 0;
  resumed = 0;
  private readonly timers = new Map<TimerName, number>();
  private readonly pending: (() => void)[] = [];
  private numbers = 0;
  private readonly open: number[] = [];

  constructor(private readonly random: Random) {
    this.machine = new Machine(hostOf((action) => this.perform(action)));
    for (const space of spaces) for (let i = 0; i < 5; ++i) this.ledger.write(random, space);
    this.machine.takeEvent({ type: 'start' }, this.now);
  }

  turn(): void {
    const { random } = this;
    this.now += random.below(400);
    const what = random.below(100);
    if (what < 30) this.ledger.write(random, random.pick(spaces));
    else if (what < 36) this.subscribe();
    else if (what < 39) this.unsubscribe();
    else if (what < 42) this.cut();
    else if (what < 43) this.link?.reset();
    else if (what < 45) this.machine.takeEvent({ type: 'woken' }, this.now);
    else this.advance();
  }

  /** Lets time and link run until everything was said and shown. */
  settle(): void {
    for (let i = 0; i < 5_000; ++i) {
      this.now += 100;
      this.advance();
      const { all } = this.machine.allSubscriptions;
      const done = [...all.values()].every((each) => each.phase === 'live');
      if (this.link?.idle() === true && done && this.pending.length === 0) return;
    }
    throw new Error('it does not settle');
  }

  private advance(): void {
    for (const [name, due] of this.timers) {
      if (due > this.now) continue;
      this.timers.delete(name);
      this.machine.takeEvent(ringing(name), this.now);
    }
    this.pending.shift()?.();
    const text = this.link?.message();
    if (text !== undefined && (this.machine.phase === 'online' || this.machine.phase === 'greeting')) {
      this.machine.takeEvent({ type: 'message', text }, this.now);
    }
  }

  private subscribe(): void {
    if (this.open.length >= 6) return;
    const number = ++this.numbers;
    this.open.push(number);
    const [view, params] = this.random.chance(50)
      ? (['overdrawn', {}] as const)
      : (['above', { low: this.random.below(3) * 4 }] as const);
    const subscription = newSubscription(number, { view, space: this.random.pick(spaces), params }, JSON.parse);
    this.machine.takeEvent({ type: 'subscribe', subscription }, this.now);
  }

  private unsubscribe(): void {
    const number = this.open.splice(this.random.below(this.open.length), 1)[0];
    if (number !== undefined) this.machine.takeEvent({ type: 'unsubscribe', number }, this.now);
  }

  private cut(): void {
    if (this.link === undefined) return;
    this.link = undefined;
    this.pending.length = 0;
    this.machine.takeEvent({ type: 'closed', code: this.random.pick([1006, 1001, 1012, 4008, 4004]) }, this.now);
  }

  private perform(action: Action): void {
    if (action.type === 'get_token') {
      this.pending.push(() => this.machine.takeEvent({ type: 'token', token: 'token' }, this.now));
    } else if (action.type === 'open') {
      this.link = new Link(this.ledger, this.random);
      this.pending.push(() => this.machine.takeEvent({ type: 'opened' }, this.now));
    } else if (action.type === 'send') {
      if (action.message.type === 'subscribe' && action.message.cursor !== undefined) this.resumed++;
      this.link?.receive(JSON.parse(JSON.stringify(action.message)) as Record<string, unknown>);
    } else if (action.type === 'drop') {
      this.link = undefined;
      this.pending.length = 0;
    } else if (action.type === 'set_timer') {
      this.timers.set(action.name, this.now + action.low + (action.high - action.low) / 2);
    } else if (action.type === 'clear_timer') {
      this.timers.delete(action.name);
    } else if (action.type === 'shown') {
      this.check(action);
    } else if (action.type === 'error' && ['misfit', 'protocol', 'cursor_invalid'].includes(action.error.code)) {
      throw new Error(`${action.error.code}: ${action.error.message}`);
    }
  }

  /**
   * Every set is its query at the commit it names. With a commit so is every other set of the space, at that same
   * commit, also one that is on its way back after a break; a set that is read anew may join the others at another one, and they meet when it has caught up.
   */
  private check(action: Extract<Action, { type: 'shown' }>): void {
    for (const { member, change } of action.shown) {
      if (change !== undefined) this.commitsShown++;
      if (member.shown === undefined) continue;
      const at = Number(member.shown.sequence);
      const ready = [...this.machine.allSubscriptions.all.values()].filter(
        (each) => each.space === member.space && (isReady(each) || isReturning(each)),
      );
      const alone = change?.kind !== 'commit' || ready.some((each) => Number(each.shown?.sequence) > at);
      if (!alone && ready.length > 1) this.together++;
      for (const each of alone ? [member] : [member, ...ready]) {
        const state = this.ledger.states(each.space)[at] ?? new Map();
        const shown = new Map([...(each.shown?.set.items ?? [])].map(([key, item]) => [key, item.text]));
        expect(shown, `${each.view} at ${at}`).toEqual(query(state, each.view, each.params));
      }
    }
  }
}

function isReady(each: Subscription): boolean {
  return each.channel?.isReady === true && each.shown === each.channel;
}

/** Asked to go on from what it shows: that still belongs to what the others show. */
function isReturning(each: Subscription): boolean {
  return ['asked', 'resuming'].includes(each.phase) && cursorOf(each) !== undefined;
}

describe('the client against a gateway in memory', () => {
  it('fold_equals_query_for_any_history_of_cuts_resets_and_lag', () => {
    let shown = 0;
    let resumed = 0;
    let together = 0;
    for (const seed of seeds(200)) {
      const world = new World(new Random(seed));
      try {
        for (let i = 0; i < 600; ++i) world.turn();
        world.settle();
        for (const each of world.machine.allSubscriptions.all.values()) {
          const states = world.ledger.states(each.space);
          const texts = new Map([...(each.shown?.set.items ?? [])].map(([key, item]) => [key, item.text]));
          expect(texts).toEqual(query(states[states.length - 1] ?? new Map(), each.view, each.params));
        }
      } catch (error) {
        throw new Error(`seed ${seed} (repeat with VIEWGATE_SEED=${seed})`, { cause: error });
      }
      shown += world.commitsShown;
      resumed += world.resumed;
      together += world.together;
    }
    expect(shown).toBeGreaterThan(1_000);
    expect(resumed).toBeGreaterThan(100);
    expect(together).toBeGreaterThan(1_000);
  });
});
