// What the client costs: `./dev bench client`. The built gateway and PostgreSQL, Chromium, a view of 100,000 records, and one of 10,000
// that scrolls while commits arrive; and the fold alone, in Node. Prints one line of JSON.

import type { Browser } from 'playwright-core';
import { carriedBytes, pack } from '../../client/pack.mjs';
import { benchPage, type Bench } from './support/bench_page.js';
import { measureFold } from './support/fold.js';
import { rowsPage, type Rows } from './support/rows_page.js';
import { Stack } from './support/stack.js';

declare global {
  // eslint-disable-next-line no-var
  var bench: Bench;
  // eslint-disable-next-line no-var
  var rows: Rows;
}

/** One frame of sixty in a second, of which the browser itself needs a part. */
const budget = 12;
const framesEach = 40;
/** Ten seconds at sixty a second, over ten thousand rows. */
const framesScrolled = 600;
/** Transactions of pgbench a second while the list scrolls. */
const rates = [0, 100, 500];

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** A view of 100,000 records: until it is there and drawn, what it takes, and how many commits a frame has time for. */
async function large(stack: Stack, browser: Browser): Promise<object> {
  await stack.query('update pgbench_accounts set abalance = -1 - aid % 1000');
  await stack.settledHead('1');
  const times: { whole: number; painted: number }[] = [];
  let heap = 0;
  let perFrame = 0;
  for (let i = 0; i < 3; ++i) {
    const page = await browser.newPage();
    const devtools = await page.context().newCDPSession(page);
    const used = async (): Promise<number> => {
      await devtools.send('HeapProfiler.collectGarbage');
      return ((await devtools.send('Runtime.getHeapUsage')) as { usedSize: number }).usedSize;
    };
    await page.goto(`${stack.page}config`);
    const before = await used();
    await page.setContent(benchPage);
    await page.waitForFunction(() => globalThis.bench !== undefined, undefined, { timeout: 120_000 });
    times.push(await page.evaluate(() => ({ whole: globalThis.bench.whole, painted: globalThis.bench.painted })));
    const size = await page.evaluate(() => globalThis.bench.size);
    if (size !== 100_000) throw new Error(`the view has ${size} records`);
    heap = Math.max(heap, (await used()) - before);
    // As many commits as a frame has time for: more each time, until nine of ten frames have no more.
    for (let count = 10; ; count = Math.ceil(count * 1.25)) {
      const frames: number[] = [];
      for (let frame = 0; frame < framesEach; ++frame) frames.push(await page.evaluate((n) => globalThis.bench.frame(n), count));
      if ((frames.sort((a, b) => a - b)[Math.floor(framesEach * 0.9)] ?? 0) > budget) break;
      perFrame = Math.max(perFrame, count);
    }
    await page.close();
  }
  return {
    whole_ms: Math.round(median(times.map(({ whole }) => whole))),
    first_paint_ms: Math.round(median(times.map(({ painted }) => painted))),
    browser_heap_megabytes: Math.round(heap / 1e5) / 10,
    commits_per_second_at_60_frames: perFrame * 60,
  };
}

/** A view of 10,000 records in a list that scrolls from end to end, while nothing is written and while pgbench is: frames that were left out. */
async function scrolling(stack: Stack, browser: Browser): Promise<object> {
  const page = await browser.newPage({ viewport: { width: 800, height: 700 } });
  await page.goto(`${stack.page}config`);
  await page.setContent(rowsPage);
  await page.waitForFunction(() => globalThis.rows?.size === 10_000, undefined, { timeout: 120_000 });
  const measured: object[] = [];
  for (const rate of rates) {
    const headers = { 'content-type': 'application/json' };
    const asked = await fetch(`${stack.page}rate`, { method: 'POST', headers, body: JSON.stringify({ rate }) });
    if (!asked.ok) throw new Error(`the rate of pgbench: ${await asked.text()}`);
    if (rate > 0) await page.waitForFunction(() => globalThis.rows.counted.commits > 20);
    await page.evaluate(() => globalThis.rows.begin());
    const from = performance.now();
    await page.evaluate((frames) => globalThis.rows.scroll(frames), framesScrolled);
    const seconds = (performance.now() - from) / 1000;
    const { commits, usual, slow, longest, late } = await page.evaluate(() => globalThis.rows.counted);
    const rounded = (value: number): number => Math.round(value * 10) / 10;
    measured.push({
      commits_per_second: Math.round(commits / seconds),
      frames: framesScrolled,
      left_out: late,
      frame_ms: rounded(usual),
      frame_p99_ms: rounded(slow),
      frame_longest_ms: rounded(longest),
    });
  }
  await page.close();
  return { scrolling: measured };
}

async function inBrowser(): Promise<object> {
  const stack = new Stack();
  try {
    await stack.start();
    const browser = await stack.openBrowser();
    return { ...(await large(stack, browser)), ...(await scrolling(stack, browser)) };
  } finally {
    await stack.stop();
  }
}

const core = await carriedBytes(['connect'], await pack());
process.stdout.write(`${JSON.stringify({ bench: 'client', core_bytes_gzipped: core, ...(await inBrowser()), ...measureFold() })}\n`);
