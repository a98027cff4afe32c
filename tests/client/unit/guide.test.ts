// Goal: a recipe of docs/client.md does what it says when it is copied. Method: its code is cut out of the document and run. The five
// minutes at its beginning are browser/start.test.ts.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const guide = readFileSync(fileURLToPath(new URL('../../../docs/client.md', import.meta.url)), 'utf8');

/** The first piece of code behind a recipe's name. */
function recipe(name: string): string {
  const [, code] = new RegExp('```js\\n([^]*?)```').exec(guide.slice(guide.indexOf(`**${name}**`))) ?? [];
  if (code === undefined) throw new Error(`docs/client.md has no code for ${name}`);
  return code;
}

it('a_list_that_many_commits_change_is_drawn_once_in_each_frame_that_saw_one', () => {
  const listeners: (() => void)[] = [];
  const frames: (() => void)[] = [];
  let draws = 0;
  const view = { subscribe: (listener: () => void) => listeners.push(listener) };
  const program = new Function('view', 'requestAnimationFrame', 'draw', recipe('A list that many commits change.'));
  program(view, (callback: () => void) => frames.push(callback), () => ++draws);
  for (const commits of [3, 0, 1, 2]) {
    for (let i = 0; i < commits; ++i) for (const each of listeners) each();
    for (const each of frames.splice(0)) each();
  }
  expect(draws).toBe(3);
});
