// The tables of client/SPEC.md, so that what is written there is what the code does.

import { readFileSync } from 'node:fs';

const text = readFileSync(new URL('../../../client/SPEC.md', import.meta.url), 'utf8');

/** phase → event → next phase, of the first table under a heading. */
export function specified(heading: string): Record<string, Record<string, string>> {
  const section = text.split('\n## ').find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  const cells = rows.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
  const [names = [], , ...phases] = cells;
  return Object.fromEntries(
    phases.map(([phase = '', ...next]) => [
      phase,
      Object.fromEntries(next.map((cell, i) => [names[i + 1] ?? '', cell === '·' ? phase : cell])),
    ]),
  );
}
