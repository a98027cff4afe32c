// What the client costs: `./dev bench client`. The built gateway and PostgreSQL, Chromium, a view of 100,000 records; and the fold
// alone, in Node. Prints one line of JSON.

import { carriedBytes, pack } from '../../client/pack.mjs';
import { benchPage, type Bench } from './support/bench_page.js';
import { measureFold } from './support/fold.js';
import { Stack } from './support/stack.js';

declare global {
  // eslint-disable-next-line no-var
  var bench: Bench;
}

/** One frame of sixty in a second, of which the browser itself needs a part. */
const budget = 12;
const framesEach = 40;

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

async function inBrowser(): Promise<object> {
  const stack = new Stack();
  try {
    await stack.start();
    await stack.query('update pgbench_accounts set abalance = -1 - aid % 1000');
    await stack.settledHead('1');
    const browser = await stack.openBrowser();
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
  } finally {
    await stack.stop();
  }
}

const core = await carriedBytes(['connect'], await pack());
process.stdout.write(`${JSON.stringify({ bench: 'client', core_bytes_gzipped: core, ...(await inBrowser()), ...measureFold() })}\n`);
