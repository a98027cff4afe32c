// Goal: the core stays small. Method: the published form is made, and measured as an application carries it. That it does what the
// sources do is shown by running other tests with it (run.sh).

import { describe, expect, it } from 'vitest';
import { carriedBytes, internalNames, pack } from '../../../client/pack.mjs';

describe('the published package', () => {
  it('the_core_is_under_8_kilobytes_gzipped', async () => {
    expect(await carriedBytes(['connect'], await pack())).toBeLessThan(8 * 1024);
  });

  it('no_name_that_anybody_else_uses_is_shortened', () => {
    const names = internalNames();
    expect(names).toContain('byWire');
    const others = ['whenReady', 'sequence', 'retry_after', 'entered', 'addEventListener', 'restoring', 'bases', 'acknowledgement', 'texts', 'page', 'from'];
    for (const name of others) expect(names).not.toContain(name);
  });
});
