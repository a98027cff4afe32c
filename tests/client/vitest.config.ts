import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** VIEWGATE_REACT: `react19`, which has the newer one. */
const react = process.env['VIEWGATE_REACT'] === undefined ? '' : `${process.env['VIEWGATE_REACT']}/`;

export default defineConfig({
  // The sources of the packages find each other, and React, here.
  resolve: {
    alias: {
      // VIEWGATE_PUBLISHED: the form that is published, instead of the sources.
      '@viewgate/client': at(process.env['VIEWGATE_PUBLISHED'] === undefined ? '../../client/src/index.ts' : '../../client/lib/index.js'),
      '@viewgate/react': at('../../client/react/src/index.ts'),
      react: at(`${react}node_modules/react`),
      'react-dom': at(`${react}node_modules/react-dom`),
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
