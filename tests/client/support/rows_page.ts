// A page with a list of many rows that draws those that are seen, as docs/client.md says it; it counts what that costs.

/** What the page leaves for the test. */
export interface Rows {
  readonly size: number;
  /** The commit that the list stands at. */
  readonly sequence: string;
  /** Since `begin`. */
  readonly counted: {
    commits: number;
    /** Records that a commit changed, and records that were parsed. */
    changed: number;
    parsed: number;
    frames: number;
    /** Rows that were written, in all frames, and in the one with the most of them. */
    written: number;
    writtenAtMost: number;
    /** Milliseconds from one frame to the next: the middle one, that of the slowest hundredth, the longest. */
    usual: number;
    slow: number;
    longest: number;
    /** Frames that took longer than one and a half of the usual ones: another one was left out. */
    late: number;
  };
  readonly windowSize: number;
  begin(): void;
  /** Scrolls from the top to the end in so many frames. */
  scroll(frames: number): Promise<void>;
  /** What is seen against what should be, by place: empty where all is right. */
  wrong(): string[];
}

export const rowsPage = `<!doctype html>
<meta charset="utf-8"><title>Rows</title><link rel="icon" href="data:,">
<style>
  body { margin: 0; font: 14px sans-serif }
  #list { position: relative; height: 600px; overflow-y: scroll }
  #list > div { position: absolute; top: 0; left: 0; height: 24px; line-height: 24px }
  #list > #space { width: 1px }
</style>
<div id="list"><div id="space"></div></div>
<script type="module">
import { connect, ordered } from '/client/index.js';

const height = 24;
const list = document.querySelector('#list');
const space = document.querySelector('#space');
const { gateway } = await (await fetch('/config')).json();
const zero = { commits: 0, changed: 0, parsed: 0, frames: 0, written: 0, writtenAtMost: 0, usual: 0, slow: 0, longest: 0, late: 0 };
let counted = { ...zero };
const client = connect({
  url: gateway,
  token: async () => (await fetch('/token?digit=3')).text(),
  parse: (text) => (counted.parsed++, JSON.parse(text)),
});
const view = client.subscribe('watch', { space: '1', params: { low: -1e9, high: 1e9 } });
const rows = ordered(view, { by: (a, b) => a.aid - b.aid });
const pool = Array.from({ length: Math.ceil(list.clientHeight / height) + 1 }, () => list.appendChild(document.createElement('div')));
const drawn = [];
let isAsked = false;

function draw() {
  isAsked = false;
  let written = 0;
  space.style.height = rows.size * height + 'px';
  const first = Math.floor(list.scrollTop / height);
  for (let at = first; at < first + pool.length; ++at) {
    const place = at % pool.length, element = pool[place];
    const [item] = rows.slice(at, at + 1);
    if (drawn[place]?.item === item && drawn[place]?.at === at) continue;
    drawn[place] = { item, at };
    written++;
    element.hidden = item === undefined;
    if (item === undefined) continue;
    element.style.transform = 'translateY(' + at * height + 'px)';
    element.textContent = item.record.aid + ': ' + item.record.abalance;
  }
  counted.frames++;
  counted.written += written;
  counted.writtenAtMost = Math.max(counted.writtenAtMost, written);
}

function ask() {
  if (!isAsked) requestAnimationFrame(draw);
  isAsked = true;
}

view.subscribe((change) => {
  if (change.kind === 'commit') counted.commits++;
  counted.changed += change.entered.length + change.updated.length;
});
rows.subscribe(ask);
list.addEventListener('scroll', ask);

async function scroll(frames) {
  const times = [];
  const step = (list.scrollHeight - list.clientHeight) / frames;
  list.scrollTop = 0;
  for (let i = 1; i <= frames; ++i) {
    times.push(await new Promise(requestAnimationFrame));
    list.scrollTop = Math.round(i * step);
  }
  const lengths = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  const at = (share) => lengths[Math.floor((lengths.length - 1) * share)];
  const usual = at(0.5);
  Object.assign(counted, { usual, slow: at(0.99), longest: at(1), late: lengths.filter((length) => length > usual * 1.5).length });
}

function wrong() {
  draw();
  return drawn.flatMap(({ at }, place) => {
    const [item] = rows.slice(at, at + 1);
    const text = item === undefined ? undefined : item.record.aid + ': ' + item.record.abalance;
    const seen = pool[place].hidden ? undefined : pool[place].textContent;
    return seen === text && item === (item && view.item(item.key)) ? [] : [at + ': ' + seen + ' instead of ' + text];
  });
}

globalThis.rows = {
  get size() { return rows.size },
  get sequence() { return view.sequence },
  get counted() { return counted },
  windowSize: pool.length,
  begin: () => (counted = { ...zero }),
  scroll,
  wrong,
};
</script>
`;
