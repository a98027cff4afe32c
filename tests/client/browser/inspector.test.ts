// Goal: an operator who opens the Inspector finds out who is connected, with what, and why a record is seen. Method: the built
// gateway, PostgreSQL with pgbench's tables, clients of the SDK, the page in Chromium; the key is typed in as a person would.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { connect, type Client, type SocketConstructor } from '../../../client/src/index.js';
import { eventually } from '../support/fake_server.js';
import { Stack } from '../support/stack.js';

const bound = { timeout: 60_000 };
const stack = new Stack();
const clients: Client[] = [];
const failures: string[] = [];
let browser: Browser;
let page: Page;

async function open(options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const opened = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  opened.on('pageerror', (error) => failures.push(error.message));
  // Also what the page's own policy forbids is told there; a refused key is no fault of the page.
  opened.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('401')) failures.push(message.text());
  });
  await opened.goto(stack.inspector);
  return opened;
}

async function signIn(into: Page, key = stack.operatorsKey): Promise<void> {
  await into.getByLabel('The operators’ key').fill(key);
  await into.getByRole('button', { name: 'Sign in' }).click();
}

async function show(tab: string): Promise<void> {
  await page.getByRole('link', { name: tab, exact: true }).first().click();
  // The page before it may have fields of the same names.
  await page.locator('#tabs a[aria-current="page"]').getByText(tab, { exact: true }).waitFor(bound);
}

/** VIEWGATE_SCREENSHOTS: a folder for pictures. */
async function picture(name: string, of: Page = page): Promise<void> {
  const folder = process.env['VIEWGATE_SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await of.screenshot({ path: join(folder, `inspector-${name}.png`), fullPage: true });
}

/** A client of the SDK with the view open and complete. */
async function watching(teller: number): Promise<void> {
  const token = (): Promise<string> => stack.token(`teller-${teller}`, String(teller));
  const client = connect({ url: stack.socketUrl, token, WebSocket: WebSocket as unknown as SocketConstructor });
  clients.push(client);
  const view = client.subscribe('overdrawn', { space: '1' });
  await eventually(`the view of teller ${teller} is live`, () => view.status === 'live');
}

beforeAll(async () => {
  await stack.start();
  await stack.query('update pgbench_accounts set abalance = -aid where aid <= 40');
  browser = await stack.openBrowser();
  for (const teller of [3, 5, 7]) await watching(teller);
  page = await open();
});

afterAll(async () => {
  for (const client of clients) client.close();
  await stack.stop();
});

describe('the Inspector', () => {
  it('whoever_has_not_the_key_sees_a_form_and_nothing_of_the_node', async () => {
    await signIn(page, 'not the key of anybody here');
    await page.getByRole('alert').getByText('not the operators’ key').waitFor(bound);
    expect(await page.locator('header').isVisible()).toBe(false);
    await picture('sign-in');
  });

  it('at_a_glance_everyone_is_caught_up', async () => {
    await signIn(page);
    await page.locator('.banner[data-state="good"]').getByText('Everyone is caught up').waitFor(bound);
    await page.getByRole('status').getByText('Everyone is caught up').waitFor(bound);
    const tile = (name: string) => page.locator('.tile', { hasText: name }).locator('strong');
    expect(await tile('Connections').textContent()).toBe('3');
    expect(await tile('Subscriptions').textContent()).toBe('3');
    await page.getByText('(this one)').waitFor(bound);
    await picture('overview');
  });

  it('the_key_is_in_no_address_and_stays_until_the_tab_is_closed', async () => {
    expect(page.url()).not.toContain('key');
    await page.reload();
    await page.locator('.banner[data-state="good"]').waitFor(bound);
    const stored = await page.evaluate(() => ({ local: localStorage.length, cookies: document.cookie }));
    expect(stored).toEqual({ local: 0, cookies: '' });
    const other = await open();
    await other.getByLabel('The operators’ key').waitFor(bound);
    await other.close();
  });

  it('a_connection_is_found_by_its_principal_and_shows_its_subscriptions', async () => {
    await show('Connections');
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.count(), bound).toBe(3);
    await page.getByLabel('Search by principal, client, address or id').fill('TELLER-5');
    await expect.poll(() => rows.count(), bound).toBe(1);
    expect(await rows.first().textContent()).toContain('teller-5');
    expect(page.url()).toContain('q=TELLER-5');
    await picture('connections');
    await rows.first().getByRole('link').click();
    await page.getByRole('heading', { name: 'Subscriptions' }).waitFor(bound);
    const stream = page.locator('tbody tr');
    expect(await stream.count()).toBe(1);
    expect(await stream.textContent()).toContain('overdrawn');
    expect(await stream.textContent()).toContain('live');
    await picture('connection');
  });

  it('a_record_is_explained_as_its_subscriber_sees_it', async () => {
    await page.getByRole('link', { name: 'Explain a record' }).click();
    await page.getByLabel('Key of the record, a JSON array').fill('[15]');
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    await page.locator('.banner[data-state="good"]').getByText('Inside overdrawn').waitFor(bound);
    await picture('explain');
    await page.getByLabel('Key of the record, a JSON array').fill('[16]');
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    await page.getByText(/overdrawn/).first().waitFor(bound);
  });

  it('a_commit_is_seen_as_it_comes', async () => {
    await show('Live tail');
    await page.getByLabel('Space').fill('1');
    await page.getByRole('button', { name: 'Follow' }).click();
    await page.locator('.commits li').first().waitFor(bound);
    const newest = await page.locator('.commits > li').first().getAttribute('data-sequence');
    await stack.query('update pgbench_accounts set abalance = abalance - 1 where aid in (7, 17)');
    await page.locator(`.commits > li.new[data-sequence="${Number(newest) + 1}"]`).getByText('2 changes').waitFor(bound);
    await page.locator('.commits > li.new').getByRole('link', { name: 'public.pgbench_accounts 17' }).waitFor(bound);
    await picture('tail');
  });

  it('spaces_views_and_groups_show_what_they_cost', async () => {
    await show('Spaces');
    await page.getByRole('cell', { name: 'caught up' }).waitFor(bound);
    await picture('spaces');
    await show('Views');
    await page.getByRole('link', { name: 'overdrawn' }).click();
    await page.getByRole('heading', { name: 'viewgate' }).waitFor(bound);
    await page.getByLabel('only of view overdrawn: show all').waitFor(bound);
    await expect.poll(() => page.locator('tbody tr').count(), bound).toBeGreaterThan(0);
    await picture('groups');
    await page.getByRole('button', { name: 'Subscribers' }).press('Enter');
    await page.locator('th[aria-sort="ascending"]').getByText('Subscribers').waitFor(bound);
  });

  it('a_dark_and_narrow_page_fits_and_every_control_has_a_name', async () => {
    const narrow = await open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
    await signIn(narrow);
    await narrow.locator('.banner[data-state="good"]').waitFor(bound);
    await narrow.getByText('(this one)').waitFor(bound);
    for (const tab of ['Overview', 'Spaces', 'Views', 'Groups', 'Connections', 'Live tail', 'Explain']) {
      await narrow.getByRole('link', { name: tab, exact: true }).first().click();
      await narrow.locator('main :is(tbody tr, form)').first().waitFor(bound);
      const wide = await narrow.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(wide, tab).toBeLessThanOrEqual(0);
      const unnamed = await narrow.evaluate(() =>
        [...document.querySelectorAll<HTMLInputElement>('input, button, a')]
          .filter((each) => (each.getAttribute('aria-label') ?? each.labels?.[0]?.textContent ?? each.textContent ?? '').trim() === '')
          .map((each) => each.outerHTML),
      );
      expect(unnamed, tab).toEqual([]);
      await picture(`narrow-${tab.toLowerCase().replace(' ', '-')}`, narrow);
    }
    expect(await narrow.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(14, 17, 20)');
    await narrow.close();
  });

  it('when_the_node_is_gone_the_page_says_so_and_goes_on_when_it_is_back', async () => {
    await show('Overview');
    await page.locator('.banner').waitFor(bound);
    await stack.killGateway();
    await page.getByRole('alert').getByText('does not answer').waitFor(bound);
    await page.locator('.banner[data-state="unknown"]').waitFor(bound);
    await page.getByRole('status').getByText('Not known').waitFor(bound);
    await picture('gone');
    await stack.startGateway();
    await page.locator('.banner[data-state="good"]').waitFor(bound);
    expect(await page.getByRole('alert').isVisible()).toBe(false);
    expect(failures.filter((each) => !each.includes('ERR_CONNECTION_REFUSED'))).toEqual([]);
  });
});
