// Goal: the core stays small. Method: the published form of what an application carries that opens views and nothing else.

import { describe, expect, it } from 'vitest';
import { internalNames, packedSize } from '../../../client/pack.mjs';

describe('the published package', () => {
  it('the_core_is_under_8_kilobytes_gzipped', async () => {
    expect(await packedSize("export { connect } from './index.js'")).toBeLessThan(8 * 1024);
  });

  it('no_name_that_anybody_else_uses_is_shortened', () => {
    const names = internalNames();
    expect(names).toContain('byWire');
    for (const name of ['whenReady', 'sequence', 'retry_after', 'entered', 'addEventListener', 'restoring']) expect(names).not.toContain(name);
  });
});
