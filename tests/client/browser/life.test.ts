// Goal: wherever the browser lets a client live, and whenever it lets it sleep, what it holds is its query. Method: the built gateway,
// PostgreSQL with pgbench, Chromium: a client in a worker and in a shared worker, and tabs of one person of which the one with the
// connection is frozen as the browser does it, or stopped as a machine does it.

import type { BrowserContext, Page, WebSocket } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/fake_server.js';
import { Frozen, stopProcess } from '../support/frozen.js';
import { Stack } from '../support/stack.js';
import { tabPage, type Tab } from '../support/tab_page.js';
import { workerPage, type WorkerKind, type WorkerPage } from '../support/worker_page.js';

/** What the pages leave for the test. */
declare global {
  // eslint-disable-next-line no-var
  var tab: Tab;
  // eslint-disable-next-line no-var
  var inWorker: WorkerPage;
}

const bound = { timeout: 60_000 };
const stack = new Stack();
const failures: string[] = [];
let context: BrowserContext;

/** An empty page of the page server's origin, which the gateway admits. */
async function open(document: string): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', (error) => failures.push(error.message));
  await page.goto(`${stack.page}config`);
  await page.setContent(document);
  return page;
}

/** The first few lines that one has and the other has not. */
function differences(shown: readonly string[], rows: readonly string[]): string[] {
  const [inShown, inRows] = [new Set(shown), new Set(rows)];
  return [...rows.filter((row) => !inShown.has(row)), ...shown.filter((row) => !inRows.has(row))].slice(0, 10);
}

function query(): Promise<string[]> {
  return stack.query(`select '[' || aid || ']|{"aid":' || aid || ',"abalance":' || abalance || '}'
                      from pgbench_accounts where aid % 10 = 3 and bid = 1`);
}

/** One commit, which the view sees. */
async function write(): Promise<void> {
  await stack.query('update pgbench_accounts set abalance = abalance + 1 where aid in (3, 13)');
}

beforeAll(async () => {
  await stack.start();
  context = await (await stack.openBrowser()).newContext();
});

afterAll(() => stack.stop());

describe('a worker', () => {
  for (const kind of ['Worker', 'SharedWorker'] as const satisfies readonly WorkerKind[]) {
    it(`in_a_${kind}_the_client_follows_and_its_set_is_the_query`, async () => {
      const page = await open(workerPage(stack.page, kind));
      await page.waitForFunction(() => globalThis.inWorker?.told.status === 'live', undefined, bound);
      for (let i = 0; i < 3; ++i) await write();
      await page.waitForFunction(() => globalThis.inWorker.told.commits >= 3, undefined, bound);
      await stack.killGateway();
      await page.waitForFunction(() => globalThis.inWorker.told.status === 'offline', undefined, bound);
      await stack.startGateway();
      await write();
      const head = await stack.settledHead('1');
      await page.waitForFunction((wanted) => globalThis.inWorker.told.sequence === wanted, head, bound);
      await page.evaluate(() => globalThis.inWorker.ask());
      await page.waitForFunction(() => globalThis.inWorker.told.lines.length > 0, undefined, bound);
      const { lines, errors } = await page.evaluate(() => globalThis.inWorker.told);
      expect(lines.length).toBe(10_000);
      expect(differences(lines, await query())).toEqual([]);
      expect(errors).toEqual([]);
      await page.close();
    });
  }
});

describe('tabs', () => {
  const sockets = new Map<Page, WebSocket[]>();

  async function openTab(): Promise<Page> {
    const page = await context.newPage();
    sockets.set(page, []);
    page.on('pageerror', (error) => failures.push(error.message));
    page.on('websocket', (socket) => sockets.get(page)?.push(socket));
    await page.goto(`${stack.page}config`);
    await page.setContent(tabPage);
    await page.waitForFunction(() => globalThis.tab !== undefined, undefined, bound);
    return page;
  }

  function isLive(page: Page): Promise<unknown> {
    return page.waitForFunction(() => globalThis.tab.view.status === 'live', undefined, bound);
  }

  /** The tab has said hello, and waits for whoever leads. */
  function isGreeting(page: Page): Promise<unknown> {
    return page.waitForFunction(() => (globalThis.tab.client as unknown as { machine: { phase: string } }).machine.phase === 'greeting', undefined, bound);
  }

  /** Which tabs have an open line to the gateway. */
  function connected(tabs: Record<string, Page>): string[] {
    return Object.keys(tabs).filter((name) => sockets.get(tabs[name] as Page)?.some((socket) => !socket.isClosed()));
  }

  async function isQuery(page: Page): Promise<void> {
    const head = await stack.settledHead('1');
    await page.waitForFunction((wanted) => globalThis.tab.view.sequence === wanted, head, bound);
    expect(differences(await page.evaluate(() => globalThis.tab.lines()), await query())).toEqual([]);
  }

  /** Both are live, and the first one has the connection. */
  async function twoTabs(): Promise<[Page, Page]> {
    const first = await openTab();
    await isLive(first);
    const second = await openTab();
    await isLive(second);
    expect(connected({ first, second })).toEqual(['first']);
    return [first, second];
  }

  /** The second one has a line of its own, and what is written comes to it. */
  async function leads(second: Page): Promise<void> {
    await eventually('the second one has the connection', () => connected({ second }).length === 1, 60_000);
    await isLive(second);
    const before = await second.evaluate(() => globalThis.tab.commits);
    for (let i = 0; i < 3; ++i) await write();
    await second.waitForFunction((seen) => globalThis.tab.commits > seen, before, bound);
    await isQuery(second);
  }

  /** Each has what the query has, by one connection. */
  async function areOneWith(leader: Page, others: readonly Page[]): Promise<void> {
    const all: Record<string, Page> = { leader, ...Object.fromEntries(others.entries()) };
    await eventually('one of them has the connection', () => connected(all).join() === 'leader', 60_000);
    await write();
    for (const tab of [leader, ...others]) await isQuery(tab);
    for (const tab of [leader, ...others]) await isLive(tab);
    expect(connected(all)).toEqual(['leader']);
  }

  it('a_frozen_tab_that_has_the_connection_is_replaced_by_one_that_runs_and_follows_it_when_it_thaws', async () => {
    const [first, second] = await twoTabs();
    const sleep = await Frozen.of(first);
    await leads(second);
    // One that comes while the first one sleeps finds who leads at once.
    const third = await openTab();
    await isLive(third);
    expect(connected({ second, third })).toEqual(['second']);
    await sleep.thaw();
    await areOneWith(second, [first, third]);
    // Whoever is next leads when the second one goes, and nobody else.
    await second.close();
    await eventually('another one leads', () => connected({ first, third }).length === 1, 60_000);
    await write();
    for (const tab of [first, third]) await isQuery(tab);
    expect(connected({ first, third }).length).toBe(1);
    // A tab that is frozen alone goes on by itself.
    await third.close();
    const again = await Frozen.of(first);
    await write();
    await again.thaw();
    await areOneWith(first, []);
    await first.close();
  });

  it('a_tab_that_is_stopped_without_a_word_loses_the_connection_to_one_that_runs_and_follows_it_when_it_goes_on', async () => {
    const [first, second] = await twoTabs();
    const goOn = await stopProcess(first);
    try {
      // The second one does not hear the leader for two heartbeats, asks anew, and is not answered within its patience.
      await second.evaluate(() => globalThis.tab.advance(41_000));
      await isGreeting(second);
      await second.evaluate(() => globalThis.tab.advance(21_000));
      await leads(second);
    } finally {
      goOn();
    }
    await areOneWith(second, [first]);
    await Promise.all([first.close(), second.close()]);
  });

  it('no_script_failed', () => {
    expect(failures).toEqual([]);
  });
});
