// What is said in passing.

import { part } from '../page.js';

const shownFor = 6_000;

/** A line that goes away by itself. */
export function toast(text: string, kind: 'info' | 'bad' = 'info'): void {
  const line = document.createElement('p');
  line.className = `toast ${kind}`;
  line.textContent = text;
  part('#toasts').append(line);
  setTimeout(() => line.remove(), shownFor);
}
