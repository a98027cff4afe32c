// Small things of the page: its parts by name, and what is said in passing.

export function part<T extends Element = HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

const shownFor = 6_000;

/** A line that goes away by itself. */
export function toast(text: string, kind: 'info' | 'bad' = 'info'): void {
  const line = document.createElement('p');
  line.className = `toast ${kind}`;
  line.textContent = text;
  part('#toasts').append(line);
  setTimeout(() => line.remove(), shownFor);
}
