import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['unit/*.test.ts', 'browser/*.test.ts'],
    // The browser's test runs programs and waits for conditions; each wait has a bound of its own.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    fileParallelism: false,
    reporters: ['verbose'],
  },
});
