// Who may sign in here. The demo's page server mints a token for each; what they see and may do is said in demo/model.sql.

import type { Optimistic } from '@viewgate/client';
import type { Model } from '../model.js';

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly role: 'lead' | 'member';
  /** Hue of their colour, in degrees. */
  readonly hue: number;
}

export const people: readonly Person[] = [
  { id: 'ada', name: 'Ada', role: 'lead', hue: 262 },
  { id: 'ben', name: 'Ben', role: 'member', hue: 24 },
  { id: 'chloe', name: 'Chloé', role: 'member', hue: 168 },
  { id: 'dan', name: 'Dan', role: 'member', hue: 332 },
];

export const lists = [
  { id: 'backlog', name: 'Backlog' },
  { id: 'doing', name: 'Doing' },
  { id: 'review', name: 'Review' },
  { id: 'done', name: 'Done' },
] as const;

/** `place` orders the cards of a list. */
export type Card = Model['views']['board']['record'];
export type Cards = Optimistic<Card, Model['tables']['cards']>;

export function personOf(id: string | null): Person | undefined {
  return people.find((person) => person.id === id);
}

/** As the view `board` has it: what a change takes out of it leaves the screen at once. */
export function sees(person: Person, card: Card): boolean {
  return person.role === 'lead' || card.assignee === person.id || card.assignee === null;
}
