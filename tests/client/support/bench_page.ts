// The page of bench.ts: one view of many records, the list that draws what is seen, and a line on which commits can be put that no
// gateway sends.

export interface Bench {
  readonly size: number;
  /** Milliseconds from the call of `connect`: until the set is whole, and until the frame after its first drawing. */
  readonly whole: number;
  readonly painted: number;
  /** Milliseconds of work for so many commits of one record each, with the drawing of what is seen. */
  frame(commits: number): Promise<number>;
}

export const benchPage = `<!doctype html>
<meta charset="utf-8"><title>Bench</title><link rel="icon" href="data:,">
<style>#list { height: 600px; overflow-y: scroll } #list > div { height: 24px }</style>
<div id="list"></div>
<script type="module">
import { connect, ordered } from '/client/index.js';

let line;
class Line extends WebSocket {
  constructor(url, protocol) {
    super(url, protocol);
    line = this;
    this.addEventListener('message', ({ data }) => {
      const [, channel] = /"type":"subscribed".*?"channel":"([^"]+)"/.exec(data) ?? [];
      if (channel !== undefined) this.channel = channel;
    });
  }
}

const { gateway } = await (await fetch('/config')).json();
const token = await (await fetch('/token?digit=3')).text();
const list = document.querySelector('#list');
const began = performance.now();
const client = connect({ url: gateway, token: () => token, WebSocket: Line });
const view = client.subscribe('overdrawn', { space: '1' });
await view.whenReady();
const whole = performance.now() - began;
const rows = ordered(view, { by: (a, b) => a.aid - b.aid });
const pool = Array.from({ length: 26 }, () => list.appendChild(document.createElement('div')));
const drawn = [];
function draw() {
  rows.slice(0, pool.length).forEach((item, at) => {
    if (drawn[at] === item) return;
    drawn[at] = item;
    pool[at].textContent = item.record.aid + ': ' + item.record.abalance;
  });
}
draw();
await new Promise(requestAnimationFrame);
await new Promise(requestAnimationFrame);
const painted = performance.now() - began;

const keys = [...view.keys()];
let sequence = 10n ** 12n;
function commits(count) {
  const lines = [];
  for (let i = 0; i < count; ++i) {
    const key = keys[Number(++sequence * 7919n % BigInt(keys.length))];
    const head = '{"type":"commit","channel":"' + line.channel + '","sequence":"' + sequence + '","position":"p","at":"2024-02-29T12:00:00.000000Z"';
    lines.push(head + ',"events":[{"kind":"updated","key":' + key + ',"changed":{"abalance": -' + (sequence % 1000n + 1n) + '}}]}');
  }
  return lines.join('\\n');
}

globalThis.bench = {
  size: view.size,
  whole,
  painted,
  frame: async (count) => {
    const text = commits(count);
    await new Promise(requestAnimationFrame);
    const from = performance.now();
    line.onmessage({ data: text });
    draw();
    list.getBoundingClientRect();
    return performance.now() - from;
  },
};
</script>
`;
