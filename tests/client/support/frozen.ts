// Pages that do not run. Chromium freezes hidden tabs: no timer rings and no WebSocket is heard until they are thawed; what other tabs
// say is heard, and the debugger may ask. A page that Playwright drives counts as seen, and what is seen is not frozen: for the time of its sleep that is taken
// back, in Playwright's own session, which is the one that asked for it.

import playwright, { type CDPSession, type Page } from 'playwright-core';
import { eventually } from './fake_server.js';

interface Inside {
  readonly _delegate: { readonly _mainFrameSession: { readonly _client: { send(method: string, parameters: object): Promise<unknown> } } };
}

declare global {
  // eslint-disable-next-line no-var
  var isFrozen: boolean;
}

function seem(page: Page, isSeen: boolean): Promise<unknown> {
  const { _toImpl: inside } = playwright as unknown as { _toImpl(page: Page): Inside };
  return inside(page)._delegate._mainFrameSession._client.send('Emulation.setFocusEmulationEnabled', { enabled: isSeen });
}

export class Frozen {
  private constructor(private readonly page: Page, private readonly session: CDPSession) {}

  /** Resolves when the page sleeps, which it was told itself. */
  static async of(page: Page): Promise<Frozen> {
    await page.evaluate(() => {
      document.addEventListener('freeze', () => (globalThis.isFrozen = true));
      document.addEventListener('resume', () => (globalThis.isFrozen = false));
    });
    const session = await page.context().newCDPSession(page);
    await session.send('Page.enable');
    await seem(page, false);
    await session.send('Page.setWebLifecycleState', { state: 'frozen' });
    await eventually('the page is frozen', () => page.evaluate(() => globalThis.isFrozen));
    return new Frozen(page, session);
  }

  async thaw(): Promise<void> {
    await this.session.send('Page.setWebLifecycleState', { state: 'active' });
    await seem(this.page, true);
    await eventually('the page runs', () => this.page.evaluate(() => !globalThis.isFrozen));
    await this.session.detach();
  }
}

interface Processes {
  readonly processInfo: readonly { readonly type: string; readonly id: number }[];
}

/** The browser's processes that pages live in. */
async function renderers(page: Page): Promise<number[]> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser');
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = (await session.send('SystemInfo.getProcessInfo')) as Processes;
  await session.detach();
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
}

/** Stops the process that a page lives in, which then does nothing at all; returns what lets it go on. */
export async function stopProcess(page: Page): Promise<() => void> {
  for (const id of await renderers(page)) {
    process.kill(id, 'SIGSTOP');
    // Of the right one no answer comes, however long one waits; every other one is let go on at once.
    const answer = page.evaluate(() => true).catch(() => true);
    const isOther = await Promise.race([answer, new Promise<boolean>((done) => setTimeout(() => done(false), 15_000))]);
    if (!isOther) return () => void process.kill(id, 'SIGCONT');
    process.kill(id, 'SIGCONT');
  }
  throw new Error('the page lives in no process of its browser');
}
