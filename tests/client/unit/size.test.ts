// Goal: the core stays small. Method: the published form is made, and measured as an application carries it. That it does what the
// sources do is shown by running other tests with it (run.sh).

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { carriedBytes, internalNames, pack } from '../../../client/pack.mjs';

describe('the published package', () => {
  it('the_core_is_under_8_kilobytes_gzipped_and_as_large_as_the_guide_says', async () => {
    const bytes = await carriedBytes(['connect'], await pack());
    expect(bytes).toBeLessThan(8_000);
    const guide = readFileSync(fileURLToPath(new URL('../../../docs/client.md', import.meta.url)), 'utf8');
    const said = Number(/`connect` alone brings, minified and gzipped \| ([\d,]+) bytes/.exec(guide)?.[1]?.replace(',', ''));
    // Versions of zlib differ by some bytes.
    expect(Math.abs(bytes - said)).toBeLessThanOrEqual(70);
  });

  it('no_name_that_anybody_else_uses_is_shortened', () => {
    const names = internalNames();
    expect(names).toContain('byWire');
    const others = ['whenReady', 'sequence', 'retry_after', 'entered', 'addEventListener', 'restoring', 'bases', 'acknowledgement', 'texts', 'page', 'from'];
    for (const name of others) expect(names).not.toContain(name);
  });
});
