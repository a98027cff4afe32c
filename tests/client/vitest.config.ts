import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['unit/*.test.ts', 'system/*.test.ts', 'browser/*.test.ts'],
    // Some tests run programs and wait for conditions; each wait has a bound of its own.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    fileParallelism: false,
    reporters: ['verbose'],
  },
});
