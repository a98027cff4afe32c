// The side panel: what arrives, how far the view has come, and the switches that make it hard.

import type { Change, Client, View, Writer } from '@viewgate/client';
import { Line } from './line.js';
import { part, setText } from '../page.js';
import type { Card } from './people.js';
import { toast } from './toast.js';

const feedLength = 40;
const narrow = matchMedia('(max-width: 64rem)');

export function preparePanel(reconnect: () => void): void {
  const panel = part('#panel');
  const toggle = part('#panel-toggle');
  const show = (isOpen: boolean): void => {
    panel.hidden = !isOpen;
    toggle.setAttribute('aria-expanded', String(isOpen));
  };
  show(!narrow.matches);
  toggle.addEventListener('click', () => {
    show(panel.hidden);
    // Where it is narrow, the panel is below the lists.
    if (!panel.hidden && narrow.matches) panel.scrollIntoView();
  });
  part<HTMLInputElement>('#offline').addEventListener('change', (event) => {
    Line.cut((event.target as HTMLInputElement).checked);
    if (!Line.isCut) reconnect();
  });
  part<HTMLInputElement>('#slow').addEventListener('change', (event) => {
    Line.isSlow = (event.target as HTMLInputElement).checked;
  });
  part('#kill').addEventListener('click', () => void kill());
}

async function kill(): Promise<void> {
  const text = part('#kill-text');
  const button = part<HTMLButtonElement>('#kill');
  button.disabled = true;
  setText(text, 'killed with SIGKILL; another one starts …');
  try {
    const answer = await fetch('/kill', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    setText(text, answer.ok ? 'the new node is up' : await answer.text());
  } catch {
    setText(text, 'the demo server does not answer');
  }
  button.disabled = false;
}

export class Feed {
  private readonly list = part<HTMLOListElement>('#feed');

  clear(): void {
    this.list.replaceChildren();
  }

  add(change: Change<Card>): void {
    const { entered, updated, left, deleted } = change;
    const line = document.createElement('li');
    const sequence = document.createElement('span');
    sequence.className = 'mono';
    sequence.textContent = change.kind === 'replaced' ? `read at ${change.sequence}` : `commit ${change.sequence}`;
    if (change.at !== undefined) line.title = `made at ${new Date(change.at).toLocaleTimeString('en', { hour12: false })}`;
    line.append(sequence);
    const kinds = [
      ['entered', entered.length],
      ['updated', updated.length],
      ['left', left.length],
      ['deleted', deleted.length],
    ] as const;
    for (const [kind, count] of kinds) {
      if (count === 0) continue;
      const part = document.createElement('span');
      part.className = `kind ${kind}`;
      part.textContent = String(count);
      part.title = `${count} ${kind}`;
      line.append(part);
    }
    this.list.prepend(line);
    while (this.list.children.length > feedLength) this.list.lastElementChild?.remove();
  }
}

export function drawPanel(view: View<Card>, size: number, write: Writer): void {
  const behind = Number(view.head) - Number(view.sequence);
  const isLive = view.status === 'live' || view.status === 'catching_up';
  setText(part('#size'), String(size));
  setText(part('#sequence'), Number(view.sequence).toLocaleString('en'));
  setText(part('#lag'), isLive ? (behind === 0 ? 'not at all' : behind.toLocaleString('en')) : 'not known');
  setText(part('#pending'), String(write.unanswered));
  setText(part('#cursor'), view.cursor === undefined ? '–' : `…${view.cursor.slice(-14)}`);
}

const texts: Record<string, string> = {
  connecting: 'connecting',
  bootstrapping: 'reading the board',
  live: 'live',
  catching_up: 'catching up',
  offline: 'offline',
  denied: 'refused',
  failed: 'refused',
  closed: 'signed out',
};

export function drawConnection(client: Client, view: View<Card>, write: Writer): void {
  const state = client.degraded && view.status === 'live' ? 'catching_up' : view.status;
  part('#connection').dataset['state'] = state;
  const left = client.retryIn;
  const unsent = write.unanswered;
  let text = client.degraded ? 'the database is away' : texts[view.status] ?? view.status;
  if (view.status === 'offline' && unsent > 0) text += ` · ${unsent} waiting`;
  setText(part('#connection-text'), text);
  // Apart from the status, which is read aloud whenever it changes.
  const isCounted = view.status === 'offline' && left !== undefined && !Line.isCut;
  setText(part('#connection-wait'), isCounted ? `again in ${(left / 1_000).toFixed(1)} s` : '');
}

/** What a person is told about a change that was taken back. */
export function tellRejection(reason: string, groups: object): void {
  const why: Record<string, string> = {
    conflict: `somebody else changed the ${Object.keys(groups).join(' and ') || 'card'} meanwhile`,
    forbidden: 'you may not do this',
    not_found: 'the card is not there any more',
    already_exists: 'the card is there already',
    signed_out: 'somebody else has signed in',
  };
  toast(`Taken back: ${why[reason] ?? reason.replace(/_/g, ' ')}.`, 'bad');
}
