// The channels of one connection: which documents belong to which set, and when what they say may be seen. A commit is
// shown whole; where a space has two or more ready channels, all of them move together, at the `at` document.

import {
  compareSequences,
  laterOf,
  type At,
  type Commit,
  type Progress,
  type Ready,
  type RecordEvent,
  type Sequence,
  type Snapshot,
} from './protocol.js';
import { RecordSet, type Change, type Origin, type Parse } from './record_set.js';

/** What was received and is not shown yet: a commit, a cursor that moved, or a set that replaces the one before. */
interface Step {
  readonly sequence: Sequence;
  readonly position: string;
  readonly events: readonly RecordEvent[];
  readonly origin?: Origin;
  readonly replacement?: RecordSet | undefined;
}

/** Whoever looks at a channel. `shown` is what it looks at: an earlier channel until this one was shown once. */
export interface Member {
  readonly space: string;
  shown?: Channel | undefined;
}

/** One group of the server: the set that is shown, the cursor that belongs to it, and what waits to be shown. */
export class Channel {
  set: RecordSet;
  sequence: Sequence = '0';
  /** Undefined until something was shown. */
  position: string | undefined;
  /** The space's head as `ready` told it: at or above it the set is live. */
  liveFrom: Sequence = '0';
  isReady = false;
  readonly members = new Set<Member>();

  /** The set that a snapshot is filling, until `ready`. */
  staging: RecordSet | undefined;
  /** Of the commit whose last part has not come yet. */
  parts: RecordEvent[] = [];
  partsOf: Sequence = '0';
  readonly queue: Step[] = [];
  received: Sequence = '0';

  constructor(readonly space: string, readonly parse: Parse) {
    this.set = new RecordSet(parse);
  }

  /** Forgets everything that is not shown; the set and its cursor stay. */
  rest(): void {
    this.isReady = false;
    this.staging = undefined;
    this.parts = [];
    this.queue.length = 0;
    this.members.clear();
  }
}

export interface Shown<M extends Member> {
  readonly member: M;
  /** Undefined where only the cursor moved. */
  readonly change: Change | undefined;
}

export interface ChannelEvents<M extends Member> {
  /** All that one commit changed; every set of the space stands exactly at that commit while this is called. */
  shown(steps: readonly Shown<M>[]): void;
  /** The channel left the ready ones and shows what it showed last. */
  gaveUp(members: readonly M[], reason: string): void;
}

class Space {
  readonly channels = new Set<Channel>();
  /** Members that come back with a cursor: what they show belongs to what the others show, so the others wait for them. */
  readonly returning = new Set<Member>();
  headOf: Sequence = '0';
  /** The last `at` of this connection. */
  lastAt: Sequence = '0';

  /** Every ready channel holds all that there is up to here: the server said so, or each has come so far by itself. */
  completeUpTo(): Sequence | undefined {
    const ready = [...this.channels].filter(({ isReady }) => isReady).map(({ received }) => received);
    return ready.length < 2 ? undefined : laterOf(ready.sort(compareSequences)[0] as Sequence, this.lastAt);
  }
}

export class Channels<M extends Member> {
  private readonly byId = new Map<string, Channel>();
  private readonly spaces = new Map<string, Space>();

  constructor(private readonly told: ChannelEvents<M>) {}

  channelOf(id: string): Channel | undefined {
    return this.byId.get(id);
  }

  /** The newest commit of the space that this connection has heard of. */
  headOf(space: string): Sequence {
    return this.spaces.get(space)?.headOf ?? '0';
  }

  /** Documents named `id` are for `channel` from now on. `bootstrap`: a snapshot will replace its set. */
  openAs(id: string, channel: Channel, bootstrap: boolean): void {
    const before = this.byId.get(id);
    if (before && before !== channel) this.closeChannel(id, before);
    this.byId.set(id, channel);
    channel.isReady = false;
    channel.staging = bootstrap ? new RecordSet(channel.parse) : undefined;
    channel.received = bootstrap ? '0' : channel.sequence;
    this.spaceOf(channel.space).channels.add(channel);
  }

  /** The member looks at this channel from now on: at once if it can be shown, else when it is. */
  join(channel: Channel, member: M): void {
    channel.members.add(member);
    if (!channel.isReady) return;
    this.returned(member);
    if (channel.position !== undefined && member.shown !== channel) this.show(channel, member);
  }

  /** At once. */
  show(channel: Channel, member: M): void {
    this.told.shown([this.turnTo(channel, member)]);
  }

  leave(channel: Channel, member: M): void {
    channel.members.delete(member);
    if (channel.members.size === 0) this.closeEverywhere(channel);
  }

  /** The member asks to go on from what it shows. */
  returns(member: M): void {
    this.spaceOf(member.space).returning.add(member);
  }

  /** It went on, or it will not. */
  returned(member: M): void {
    const space = this.spaces.get(member.space);
    if (space?.returning.delete(member)) this.releaseWhatIsFree(space);
  }

  /** The connection is gone: what was not shown comes again after the cursors. */
  clearAll(): void {
    for (const channel of this.byId.values()) channel.rest();
    this.byId.clear();
    this.spaces.clear();
  }

  snapshot(document: Snapshot): void {
    const channel = this.byId.get(document.channel);
    if (!channel) return;
    for (const { key, record } of document.records) {
      if (!channel.staging?.add(key, record)) return this.giveUp(channel, `${key} in vain`);
    }
  }

  ready(document: Ready): void {
    const channel = this.byId.get(document.channel);
    if (!channel) return;
    const replacement = channel.staging;
    channel.staging = undefined;
    channel.isReady = true;
    channel.liveFrom = document.head;
    const space = this.spaceOf(channel.space);
    for (const member of channel.members) space.returning.delete(member);
    // An `at` of before spoke of the channels that were ready then.
    space.lastAt = '0';
    this.heard(channel.space, document.head);
    this.receive(channel, { ...document, events: [], replacement });
  }

  commit(document: Commit): void {
    const channel = this.byId.get(document.channel);
    if (!channel) return;
    const { sequence, position, last, at, request_id: requestId } = document;
    const isInside = channel.parts.length > 0 && channel.partsOf !== sequence;
    if (!channel.isReady || isInside || compareSequences(sequence, channel.received) <= 0) {
      return this.giveUp(channel, `commit ${sequence} after ${channel.received}`);
    }
    channel.partsOf = sequence;
    for (const event of document.events) channel.parts.push(event);
    if (!last || position === undefined) return;
    const events = channel.parts;
    channel.parts = [];
    this.receive(channel, { sequence, position, events, origin: { at, requestId } });
  }

  progress(document: Progress): void {
    const channel = this.byId.get(document.channel);
    if (!channel?.isReady) return;
    if (compareSequences(document.sequence, channel.received) < 0) {
      return this.giveUp(channel, `progress ${document.sequence} after ${channel.received}`);
    }
    this.receive(channel, { ...document, events: [] });
  }

  at(document: At): void {
    const space = this.spaces.get(document.space);
    if (!space) return;
    this.heard(document.space, document.sequence);
    space.lastAt = document.sequence;
    this.releaseWhatIsFree(space);
  }

  /** Shows what came in this message and waits for nothing. */
  endOfMessage(): void {
    for (const space of this.spaces.values()) this.releaseWhatIsFree(space);
  }

  private spaceOf(name: string): Space {
    let space = this.spaces.get(name);
    if (!space) this.spaces.set(name, (space = new Space()));
    return space;
  }

  private heard(name: string, sequence: Sequence): void {
    const space = this.spaceOf(name);
    space.headOf = laterOf(sequence, space.headOf);
  }

  private receive(channel: Channel, step: Step): void {
    channel.received = step.sequence;
    channel.queue.push(step);
    this.heard(channel.space, step.sequence);
  }

  private releaseWhatIsFree(space: Space): void {
    if (space.returning.size === 0) this.releaseUpTo(space, space.completeUpTo());
  }

  private closeChannel(id: string, channel: Channel): void {
    this.byId.delete(id);
    channel.rest();
    const space = this.spaceOf(channel.space);
    space.channels.delete(channel);
    if (space.channels.size === 0 && space.returning.size === 0) this.spaces.delete(channel.space);
    else this.releaseWhatIsFree(space);
  }

  private closeEverywhere(channel: Channel): void {
    for (const [id, other] of this.byId) if (other === channel) this.closeChannel(id, channel);
  }

  private giveUp(channel: Channel, reason: string): void {
    const members = [...channel.members] as M[];
    this.closeEverywhere(channel);
    this.told.gaveUp(members, reason);
  }

  /** Shows what waits, commit by commit across the space's channels, up to `limit` or all of it. */
  private releaseUpTo(space: Space, limit: Sequence | undefined): void {
    for (;;) {
      const next = [...space.channels].flatMap(({ queue }) => queue[0]?.sequence ?? []).sort(compareSequences)[0];
      if (next === undefined || (limit !== undefined && compareSequences(next, limit) > 0)) return;
      const shown: Shown<M>[] = [];
      const misfits: [Channel, string][] = [];
      for (const channel of space.channels) {
        try {
          while (channel.queue[0]?.sequence === next) this.take(channel, shown);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          misfits.push([channel, error.message]);
        }
      }
      if (shown.length > 0) this.told.shown(shown);
      for (const [channel, reason] of misfits) this.giveUp(channel, reason);
    }
  }

  /** Applies the first step of the queue to the channel's set. */
  private take(channel: Channel, shown: Shown<M>[]): void {
    const { sequence, position, events, origin, replacement } = channel.queue.shift() as Step;
    const before = channel.set;
    const change = events.length > 0 ? before.apply(sequence, events, origin) : undefined;
    channel.set = replacement ?? before;
    channel.sequence = sequence;
    channel.position = position;
    for (const member of channel.members as Set<M>) {
      shown.push(replacement || member.shown !== channel ? this.turnTo(channel, member, before) : { member, change });
    }
  }

  /** Turns a member from what it looked at to this channel; `before`: what that was, where it was this channel, too. */
  private turnTo(channel: Channel, member: M, before?: RecordSet): Shown<M> {
    const old = member.shown === channel ? before : member.shown?.set;
    member.shown = channel;
    return { member, change: channel.set.differenceTo(old, channel.sequence) };
  }
}
