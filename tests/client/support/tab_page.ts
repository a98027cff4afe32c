// A page that shares its connection with the other tabs of its person, and shows nothing: what it holds is for the test to look at.

import type { Client, View } from '../../../client/src/index.js';

/** What the page leaves for the test. */
export interface Tab {
  readonly client: Client;
  readonly view: View<{ aid: number; abalance: number }>;
  /** Seen since the page was loaded. */
  readonly commits: number;
  /** Key and text of each record. */
  lines(): string[];
  /** The client's clock goes forward by so many milliseconds at once, and what is due rings. */
  advance(milliseconds: number): void;
}

export const tabPage = `<!doctype html>
<meta charset="utf-8"><title>Tab</title><link rel="icon" href="data:,">
<script type="module">
import { connectShared } from '/client/index.js';

const pending = new Map();
let ahead = 0;
let last = 0;
const now = () => Date.now() + ahead;
const timers = {
  now,
  random: Math.random,
  set: (callback, milliseconds) => {
    const id = ++last;
    const ring = () => pending.delete(id) && callback();
    pending.set(id, { due: now() + milliseconds, ring, handle: setTimeout(ring, milliseconds) });
    return id;
  },
  clear: (id) => {
    clearTimeout(pending.get(id)?.handle);
    pending.delete(id);
  },
};
function advance(milliseconds) {
  ahead += milliseconds;
  for (const timer of [...pending.values()].sort((a, b) => a.due - b.due)) {
    clearTimeout(timer.handle);
    if (timer.due <= now()) timer.ring();
    else timer.handle = setTimeout(timer.ring, timer.due - now());
  }
}

const { gateway } = await (await fetch('/config')).json();
const client = connectShared({ url: gateway, principal: 'teller-3', token: async () => (await fetch('/token?digit=3')).text(), timers });
const view = client.subscribe('watch', { space: '1', params: { low: -1e9, high: 1e9 } });
let commits = 0;
view.subscribe(({ kind }) => kind === 'commit' && ++commits);
const lines = () => [...view.items()].map((item) => item.key + '|' + item.text);
globalThis.tab = { client, view, lines, advance, get commits() { return commits } };
</script>
`;
