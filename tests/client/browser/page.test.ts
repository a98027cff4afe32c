// Goal: what a person sees in a real browser is the database. Method: the built gateway, PostgreSQL with the unmodified pgbench,
// the demo page in Chromium; at the end the page's set is compared with the SQL of its view, key by key and byte by byte.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client, View } from '../../../client/src/index.js';
import { rowsPage, type Rows } from '../support/rows_page.js';
import { Stack } from '../support/stack.js';

/** What the page leaves for the console, and what `watched` counts there. */
declare global {
  // eslint-disable-next-line no-var
  var rows: Rows;
  // eslint-disable-next-line no-var
  var demo: { client: Client; view: View<{ aid: number; abalance: number }> };
  // eslint-disable-next-line no-var
  var seen: { commits: number; replaced: number; kinds: Record<string, number>; errors: string[] };
}

const bound = { timeout: 60_000 };
const stack = new Stack();
let browser: Browser;
let page: Page;
const failures: string[] = [];

async function look(address: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const opened = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  opened.on('pageerror', (error) => failures.push(error.message));
  await opened.goto(stack.page + address);
  await opened.locator('#connection[data-state="live"]').waitFor(bound);
  return opened;
}

/** Counts what the view tells from now on. */
function watched(): Promise<void> {
  return page.evaluate(() => {
    const counts = { commits: 0, replaced: 0, kinds: {} as Record<string, number>, errors: [] as string[] };
    globalThis.seen = counts;
    globalThis.demo.client.onError((error) => counts.errors.push(error.code));
    globalThis.demo.view.subscribe((change) => {
      if (change.kind === 'commit') counts.commits++;
      else counts.replaced++;
      for (const kind of ['entered', 'updated', 'left', 'deleted'] as const) {
        counts.kinds[kind] = (counts.kinds[kind] ?? 0) + change[kind].length;
      }
    });
  });
}

function seen(): Promise<typeof globalThis.seen> {
  return page.evaluate(() => globalThis.seen);
}

async function setRate(place: number): Promise<void> {
  // Listening first: the answer may be there before `fill` has returned.
  const isAnswer = (response: Response): boolean => response.url().endsWith('/rate') && response.request().method() === 'POST';
  const answer = page.waitForResponse(isAnswer, bound);
  await page.locator('#rate').fill(String(place));
  await answer;
}

/** The set of the page, once it stands at the head: key and text of each record. */
async function setAtHead(): Promise<string[]> {
  const head = await stack.settledHead('1');
  await page.waitForFunction((wanted) => globalThis.demo.view.sequence === wanted, head, bound);
  return page.evaluate(() => [...globalThis.demo.view.items()].map((item) => `${item.key}|${item.text}`));
}

/** The first few lines that one has and the other has not. */
function differences(page: readonly string[], query: readonly string[]): string[] {
  const inQuery = new Set(query);
  const inPage = new Set(page);
  const more = page.filter((line) => !inQuery.has(line)).map((line) => `only on the page: ${line}`);
  const less = query.filter((line) => !inPage.has(line)).map((line) => `only in the query: ${line}`);
  return [...more, ...less].slice(0, 10);
}

async function screenshot(name: string, of: Page): Promise<void> {
  const folder = process.env['VIEWGATE_SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await of.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

beforeAll(async () => {
  await stack.start();
  browser = await stack.openBrowser();
  page = await look('#branch=1&view=overdrawn&digit=3');
});

afterAll(() => stack.stop());

describe('the page', () => {
  it('rows_appear_change_and_leave', async () => {
    await watched();
    await setRate(2);
    for (const kind of ['entered', 'updated', 'left']) await page.locator(`#rows .row.${kind}`).first().waitFor(bound);
    await page.waitForFunction(() => {
      const { entered = 0, updated = 0, left = 0 } = globalThis.seen.kinds;
      return entered > 10 && updated > 10 && left > 10;
    }, undefined, bound);
    await page.locator('#ticker li .kind.left').first().waitFor(bound);
    expect(Number((await page.locator('#size').textContent())?.replace(/,/g, ''))).toBeGreaterThan(40_000);
    await screenshot('light', page);
  });

  it('the_gateway_is_killed_and_comes_back_and_the_view_goes_on_from_its_cursor', async () => {
    for (let i = 0; i < 2; ++i) {
      const before = await seen();
      await stack.killGateway();
      await page.locator('#connection[data-state="offline"]').waitFor(bound);
      await screenshot('offline', page);
      await stack.startGateway();
      await page.locator('#connection[data-state="live"]').waitFor(bound);
      await page.waitForFunction((commits) => globalThis.seen.commits > commits + 20, before.commits, bound);
    }
    const { replaced, errors } = await seen();
    expect(replaced).toBe(0);
    expect(errors).toEqual([]);
  });

  it('at_full_speed_the_page_keeps_up', async () => {
    const before = await seen();
    await setRate(4);
    await page.waitForFunction((commits) => globalThis.seen.commits > commits + 500, before.commits, bound);
    await page.waitForFunction(() => Number(globalThis.demo.view.head) - Number(globalThis.demo.view.sequence) < 200, undefined, bound);
  });

  it('at_the_end_the_set_is_the_query_key_by_key_and_byte_by_byte', async () => {
    await setRate(0);
    const shown = await setAtHead();
    const rows = await stack.query(`
      select '[' || aid || ']|{"aid":' || aid || ',"bid":' || bid || ',"abalance":' || abalance || '}'
      from pgbench_accounts where abalance < 0 and bid = 1`);
    expect(shown.length).toBeGreaterThan(40_000);
    expect(differences(shown, rows)).toEqual([]);
    expect(await page.locator('#size').textContent()).toBe(rows.length.toLocaleString('en'));
    expect((await seen()).errors).toEqual([]);
  });

  it('another_view_as_another_teller_is_that_tellers_query', async () => {
    await page.getByLabel('teller 7').check({ force: true });
    await page.getByLabel('watch').check({ force: true });
    await page.locator('#low').fill('-700');
    await page.locator('#high').fill('1200');
    await page.waitForFunction(() => globalThis.demo.view.name === 'watch' && globalThis.demo.client.principal === 'teller-7', undefined, bound);
    await page.locator('#connection[data-state="live"]').waitFor(bound);
    await page.waitForFunction(() => [...globalThis.demo.view.values()].some((each) => each.abalance > 1100), undefined, bound);
    await setRate(3);
    await watched();
    await page.waitForFunction(() => globalThis.seen.commits > 10, undefined, bound);
    await setRate(0);
    const rows = await stack.query(`
      select '[' || aid || ']|{"aid":' || aid || ',"abalance":' || abalance || '}'
      from pgbench_accounts where abalance between -700 and 1200 and aid % 10 = 7 and bid = 1`);
    const shown = await setAtHead();
    expect(shown.length).toBeGreaterThan(100);
    expect(differences(shown, rows)).toEqual([]);
    await screenshot('watch', page);
  });

  it('a_dark_and_narrow_page_fits_and_every_control_has_a_name', async () => {
    const narrow = await look('', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
    await screenshot('narrow', narrow);
    const wide = await narrow.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(wide).toBeLessThanOrEqual(0);
    const background = await narrow.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe('rgb(14, 17, 20)');
    const unnamed = await narrow.evaluate(() =>
      [...document.querySelectorAll<HTMLInputElement>('input')]
        .filter((input) => (input.getAttribute('aria-label') ?? input.labels?.[0]?.textContent ?? '').trim() === '')
        .map((input) => input.outerHTML),
    );
    expect(unnamed).toEqual([]);
    await narrow.close();
  });

  it('two_tabs_of_one_teller_share_one_connection_and_the_second_goes_on_when_the_first_is_closed', async () => {
    const context = await browser.newContext();
    const sockets: string[] = [];
    const open = async (name: string): Promise<Page> => {
      const tab = await context.newPage();
      tab.on('pageerror', (error) => failures.push(error.message));
      tab.on('websocket', () => sockets.push(name));
      await tab.goto(`${stack.page}#branch=1&view=overdrawn&digit=5`);
      await tab.locator('#connection[data-state="live"]').waitFor(bound);
      return tab;
    };
    const first = await open('first');
    const second = await open('second');
    expect(sockets).toEqual(['first']);
    const size = await second.locator('#size').textContent();
    expect(size).toBe(await first.locator('#size').textContent());
    await second.evaluate(() => {
      const counts = { commits: 0, replaced: 0, kinds: {}, errors: [] as string[] };
      globalThis.seen = counts;
      globalThis.demo.view.subscribe((change) => (change.kind === 'commit' ? counts.commits++ : counts.replaced++));
    });
    await first.close();
    await setRate(2);
    await second.waitForFunction(() => globalThis.seen.commits > 20 && globalThis.demo.view.status === 'live', undefined, bound);
    await setRate(0);
    expect(sockets).toEqual(['first', 'second']);
    expect(await second.evaluate(() => globalThis.seen.replaced)).toBe(0);
    await context.close();
  });

  it('ten_thousand_rows_scroll_under_commits_and_a_frame_costs_what_is_seen_and_a_commit_what_it_changed', async () => {
    const many = await browser.newPage({ viewport: { width: 800, height: 700 } });
    many.on('pageerror', (error) => failures.push(error.message));
    // Of the page server's origin, which the gateway admits.
    await many.goto(`${stack.page}config`);
    await many.setContent(rowsPage);
    await many.waitForFunction(() => globalThis.rows?.size === 10_000, undefined, bound);
    const measure = async (): Promise<Rows['counted']> => {
      await many.evaluate(() => globalThis.rows.begin());
      await many.evaluate(() => globalThis.rows.scroll(180));
      return many.evaluate(() => globalThis.rows.counted);
    };
    await setRate(0);
    const head = await stack.settledHead('1');
    await many.waitForFunction((wanted) => globalThis.rows.sequence === wanted, head, bound);
    const still = await measure();
    await setRate(3);
    await many.waitForFunction(() => globalThis.rows.counted.commits > 20, undefined, bound);
    const busy = await measure();
    await setRate(0);
    const windowSize = await many.evaluate(() => globalThis.rows.windowSize);
    // Frames are for people to look at: how long one takes is the machine's affair, what it costs is ours.
    process.stdout.write(`rows: ${JSON.stringify({ windowSize, still, busy })}\n`);
    expect(busy.commits).toBeGreaterThan(0);
    expect(busy.changed).toBeGreaterThan(0);
    // Every record is parsed once, when it is new; none because it is drawn, or because another one changed.
    expect(still.parsed).toBe(0);
    expect(busy.parsed).toBeLessThanOrEqual(busy.changed);
    for (const each of [still, busy]) {
      expect(each.writtenAtMost).toBeLessThanOrEqual(windowSize);
      expect(each.written).toBeGreaterThan(0);
    }
    await stack.settledHead('1');
    expect(await many.evaluate(() => globalThis.rows.wrong())).toEqual([]);
    expect(await many.evaluate(() => document.querySelectorAll('#list > div').length)).toBe(windowSize + 1);
    await many.close();
  });

  it('an_empty_branch_says_so_and_no_script_failed', async () => {
    const empty = await look('#branch=9&view=overdrawn&digit=3');
    await empty.getByText('No account is in this view now').waitFor(bound);
    await screenshot('empty', empty);
    await empty.close();
    expect(failures).toEqual([]);
  });
});
