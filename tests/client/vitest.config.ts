import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // The sources of the packages find each other, and React, here.
  resolve: {
    alias: {
      '@viewgate/client': at('../../client/src/index.ts'),
      '@viewgate/react': at('../../client/react/src/index.ts'),
      react: at('node_modules/react'),
    },
  },
  test: {
    include: ['unit/*.test.ts', 'system/*.test.ts', 'browser/*.test.ts'],
    // Some tests run programs and wait for conditions; each wait has a bound of its own.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    fileParallelism: false,
    reporters: ['verbose'],
  },
});
