// The form of one card, for a new one and for one that is there.

import { part } from '../page.js';
import { lists, people, type Card } from './people.js';

export interface CardForm {
  readonly values: Omit<Card, 'id' | 'place'>;
  readonly isDeleted: boolean;
}

const dialog = part<HTMLDialogElement>('#card-dialog');
const form = part<HTMLFormElement>('#card-dialog form');

function field<T extends HTMLElement = HTMLInputElement>(name: string): T {
  return form.elements.namedItem(name) as T;
}

function options(name: string, values: readonly (readonly [string, string])[]): void {
  field<HTMLSelectElement>(name).replaceChildren(...values.map(([value, text]) => new Option(text, value)));
}

export function prepareDialog(): void {
  options('list', lists.map(({ id, name }) => [id, name] as const));
  options('assignee', [['', 'nobody yet'], ...people.map(({ id, name }) => [id, name] as const)]);
  part('#cancel').addEventListener('click', () => dialog.close('cancel'));
  part('#delete').addEventListener('click', () => dialog.close('delete'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    dialog.close('save');
  });
}

/** Resolves with what was entered; undefined: cancelled. `card` undefined: a new one. */
export function ask(card: Partial<Card>, isNew: boolean): Promise<CardForm | undefined> {
  part('#dialog-title').textContent = isNew ? 'New card' : 'Card';
  part<HTMLButtonElement>('#delete').hidden = isNew;
  field('title').value = card.title ?? '';
  field('note').value = card.note ?? '';
  field('list').value = card.list ?? 'backlog';
  field('assignee').value = card.assignee ?? '';
  field('priority').value = String(card.priority ?? 2);
  field('due').value = card.due ?? '';
  dialog.returnValue = '';
  dialog.showModal();
  field('title').focus();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(isAnswered() ? answer() : undefined), { once: true });
  });
}

/** The Escape key leaves nothing of what was there before in some browsers, and what was there in others. */
function isAnswered(): boolean {
  return dialog.returnValue === 'save' || dialog.returnValue === 'delete';
}

function answer(): CardForm {
  return {
    isDeleted: dialog.returnValue === 'delete',
    values: {
      title: field('title').value.trim(),
      note: field('note').value.trim() || null,
      list: field('list').value,
      assignee: field('assignee').value || null,
      priority: Number(field('priority').value),
      due: field('due').value || null,
    },
  };
}
