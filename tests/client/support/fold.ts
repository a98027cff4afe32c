// What the fold alone costs, in Node: the network and drawing are apart.

import { Machine } from '../../../client/src/state.js';
import { newSubscription } from '../../../client/src/subscriptions.js';
import { hostOf } from './host.js';

const records = 100_000;
const perDocument = 200;

function text(id: number, rank: number): string {
  return `{"id": ${id}, "list": "doing", "title": "A card with a title of usual length ${id}", "assignee": "person-${id % 50}", "rank": ${rank}}`;
}

function bootstrap(): { machine: Machine; milliseconds: number; bytes: number } {
  const machine = new Machine(hostOf(() => undefined));
  const subscription = newSubscription(1, { space: '1', view: 'v', params: {} }, JSON.parse);
  machine.takeEvent({ type: 'start' }, 0);
  machine.takeEvent({ type: 'token', token: 't' }, 0);
  machine.takeEvent({ type: 'opened' }, 0);
  machine.takeEvent({ type: 'message', text: '{"type":"welcome","principal":"a","heartbeat":20}' }, 0);
  machine.takeEvent({ type: 'subscribe', subscription }, 0);
  const messages = [`{"type":"subscribed","id":"s1","channel":"c","context":"x","resumed":false}`];
  for (let from = 0; from < records; from += perDocument) {
    const some = Array.from({ length: perDocument }, (_, i) => `{"key":[${from + i}],"record":${text(from + i, from + i)}}`);
    messages.push(`{"type":"snapshot","channel":"c","records":[${some.join(',')}]}`);
  }
  messages.push('{"type":"ready","channel":"c","sequence":"1","position":"p","head":"1"}');
  const began = performance.now();
  for (const message of messages) machine.takeEvent({ type: 'message', text: message }, 0);
  const milliseconds = performance.now() - began;
  if (subscription.shown?.set.items.size !== records) throw new Error('the set is not whole');
  return { machine, milliseconds, bytes: messages.reduce((sum, each) => sum + each.length, 0) };
}

function fold(machine: Machine, perMessage: number): number {
  const until = performance.now() + 2_000;
  const began = performance.now();
  let sequence = 1_000_000;
  let commits = 0;
  while (performance.now() < until) {
    const lines: string[] = [];
    for (let i = 0; i < perMessage; ++i) {
      const id = (++sequence * 7919) % records;
      lines.push(`{"type":"commit","channel":"c","sequence":"${sequence}","position":"p${sequence}","events":[{"kind":"updated","key":[${id}],"changed":{"rank": ${sequence}}}]}`);
    }
    machine.takeEvent({ type: 'message', text: lines.join('\n') }, 0);
    commits += perMessage;
  }
  return Math.round((commits / (performance.now() - began)) * 1_000);
}

const gc = (globalThis as { gc?: () => void }).gc ?? (() => undefined);

export function measureFold(): object {
  bootstrap();
  gc();
  const before = process.memoryUsage().heapUsed;
  const { machine, milliseconds, bytes } = bootstrap();
  gc();
  const heap = process.memoryUsage().heapUsed - before;
  return {
    records,
    fold_ms: Math.round(milliseconds),
    fold_megabytes_per_second: Math.round(bytes / 1_000 / milliseconds),
    node_heap_megabytes: Math.round(heap / 1e5) / 10,
    text_megabytes: Math.round(bytes / 1e5) / 10,
    commits_per_second_1: fold(machine, 1),
    commits_per_second_50: fold(machine, 50),
  };
}
