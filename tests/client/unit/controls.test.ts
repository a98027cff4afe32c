// @vitest-environment happy-dom
// Goal: the slider of pgbench's rate says what the server said. Method: the page's own code, a server of two answers.

import { afterEach, describe, it, vi } from 'vitest';
import { RateSlider } from '../../../demo/controls.js';
import { eventually } from '../support/fake_server.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

function slide(answer: () => Response): () => string {
  document.body.innerHTML = '<input id="rate" type="range" min="0" max="4"><datalist id="rates"></datalist><span id="rate-text"></span>';
  // The slider looks again and again; this test does not.
  vi.stubGlobal('setInterval', () => 0);
  vi.stubGlobal('fetch', (_: string, options?: RequestInit) =>
    Promise.resolve(options?.method === 'POST' ? answer() : new Response('{"rate":0,"failure":null}')),
  );
  new RateSlider();
  const slider = document.querySelector('#rate') as HTMLInputElement;
  slider.value = '2';
  slider.dispatchEvent(new Event('change'));
  return () => document.querySelector('#rate-text')?.textContent ?? '';
}

describe('the slider of the rate', () => {
  it('a_rate_that_is_refused_is_told_with_its_reason', async () => {
    const text = slide(() => new Response('no such rate\n', { status: 400 }));
    await eventually('the reason is there', () => text() === 'the rate is as it was: no such rate');
  });

  it('a_rate_that_is_taken_though_pgbench_cannot_run_yet_says_why', async () => {
    const text = slide(() => new Response('{"rate":100,"failure":"PostgreSQL is still on its way up"}'));
    await eventually('the reason is there', () => text() === 'pgbench does not run: PostgreSQL is still on its way up');
  });

  it('a_rate_that_is_in_force_is_told', async () => {
    const text = slide(() => new Response('{"rate":100,"failure":null}'));
    await eventually('it is told', () => text() === '100 transactions a second');
  });
});
