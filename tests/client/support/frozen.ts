// Pages that Chromium freezes as it does with hidden tabs: no timer rings and no message is heard until they are thawed; only the debugger
// may still ask. A page that Playwright drives counts as seen, and what is seen is not frozen: for the time of its sleep that is taken
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
