// Draws the lists and their cards: one element for each card, kept while the card is there, moved where it goes.

import { ordered, type Item, type Ordered } from '@viewgate/client';
import { lists, personOf, type Card, type Cards } from './people.js';

export interface CardActions {
  open(card: Card): void;
  /** To a list, between two cards. */
  move(card: Card, list: string, place: number): void;
}

const byPlace = (a: Card, b: Card): number => a.place - b.place;
const priorities: Record<number, string> = { 1: 'high', 2: 'normal', 3: 'low' };

interface Column {
  readonly id: string;
  readonly cards: Ordered<Card>;
  readonly body: HTMLElement;
  readonly count: HTMLElement;
  readonly empty: HTMLElement;
}

export class Columns {
  private readonly columns: Column[];
  private readonly drawn = new Map<string, { element: HTMLElement; item: Item<Card>; isPending: boolean }>();
  private dragged: Card | undefined;
  /** The first set is simply there; what comes later is seen coming. */
  private wasReady = false;

  constructor(
    container: HTMLElement,
    private readonly cards: Cards,
    private readonly actions: CardActions,
  ) {
    this.columns = lists.map(({ id, name }) => this.makeColumn(id, name));
    container.replaceChildren(...this.columns.map(({ body }) => body.closest('section') as HTMLElement));
  }

  close(): void {
    for (const { cards } of this.columns) cards.close();
  }

  draw(isReady: boolean): void {
    const before = this.positions();
    const focused = document.activeElement;
    const kept = new Set<string>();
    for (const { cards, body, count, empty } of this.columns) {
      count.textContent = isReady ? String(cards.size) : '';
      empty.hidden = cards.size > 0;
      empty.textContent = isReady ? 'Nothing here. Drop a card, or press N.' : '';
      body.classList.toggle('loading', !isReady);
      let next = body.firstElementChild;
      for (const item of cards.list) {
        kept.add(item.key);
        const element = this.elementOf(item);
        if (element === next) next = next.nextElementSibling;
        else body.insertBefore(element, next);
      }
    }
    for (const [key, { element }] of this.drawn) {
      if (kept.has(key)) continue;
      this.drawn.delete(key);
      this.sayGoodbye(element);
    }
    // An element that is put elsewhere loses the focus.
    if (focused instanceof HTMLElement && focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
    this.animate(before);
    this.wasReady ||= isReady;
  }

  private makeColumn(id: string, name: string): Column {
    const section = document.createElement('section');
    section.className = 'column';
    section.setAttribute('aria-labelledby', `list-${id}`);
    section.innerHTML = `<h2 id="list-${id}">${name} <span class="count"></span></h2><div class="cards" role="group" aria-labelledby="list-${id}"></div><p class="empty"></p>`;
    const body = section.querySelector('.cards') as HTMLElement;
    section.addEventListener('dragover', (event) => {
      if (this.dragged === undefined) return;
      event.preventDefault();
      section.classList.add('target');
    });
    section.addEventListener('dragleave', (event) => {
      if (!section.contains(event.relatedTarget as Node | null)) section.classList.remove('target');
    });
    section.addEventListener('drop', (event) => {
      event.preventDefault();
      section.classList.remove('target');
      if (this.dragged !== undefined) this.drop(this.dragged, id, event.clientY);
      this.dragged = undefined;
    });
    return {
      id,
      cards: ordered(this.cards, { by: byPlace, where: (card) => card.list === id }),
      body,
      count: section.querySelector('.count') as HTMLElement,
      empty: section.querySelector('.empty') as HTMLElement,
    };
  }

  private drop(card: Card, list: string, y: number): void {
    const column = this.columns.find(({ id }) => id === list);
    const others = (column?.cards.list ?? []).filter((item) => item.record.id !== card.id);
    const at = others.findIndex((item) => {
      const box = this.drawn.get(item.key)?.element.getBoundingClientRect();
      return box !== undefined && y < box.top + box.height / 2;
    });
    this.actions.move(card, list, placeAt(others, at < 0 ? others.length : at));
  }

  /** One list on, or one place on. */
  private shift(card: Card, sideways: number, down: number): void {
    const at = this.columns.findIndex(({ id }) => id === card.list);
    const column = this.columns[at + sideways];
    if (column === undefined) return;
    const others = column.cards.list.filter((item) => item.record.id !== card.id);
    const now = (this.columns[at]?.cards.list ?? []).findIndex((item) => item.record.id === card.id);
    const to = sideways !== 0 ? Math.min(now, others.length) : now + down;
    if (to < 0 || to > others.length) return;
    this.actions.move(card, column.id, placeAt(others, to));
  }

  private elementOf(item: Item<Card>): HTMLElement {
    const known = this.drawn.get(item.key);
    const isPending = this.cards.isPending(item.key);
    if (known?.item === item && known.isPending === isPending) return known.element;
    const element = known?.element ?? this.makeCard(item.key);
    this.fill(element, item.record, isPending);
    if (known !== undefined && known.item.text !== item.text && !isPending && !known.isPending) flash(element);
    this.drawn.set(item.key, { element, item, isPending });
    return element;
  }

  private makeCard(key: string): HTMLElement {
    const element = document.createElement('article');
    element.className = this.wasReady ? 'card enters' : 'card';
    // An element that moves to another list would come again.
    element.addEventListener('animationend', () => element.classList.remove('enters', 'changed'));
    element.tabIndex = 0;
    element.draggable = true;
    // It opens, as a button does; what it holds is in its label.
    element.setAttribute('role', 'button');
    element.setAttribute('aria-haspopup', 'dialog');
    element.setAttribute('aria-describedby', 'card-help');
    element.innerHTML =
      '<h3></h3><p class="note"></p><p class="facts"><span class="avatar"></span><span class="priority"></span><span class="due"></span><span class="wait" title="not confirmed yet">…</span></p>';
    const card = (): Card | undefined => this.cards.get(key);
    const act = (perform: (card: Card) => void): void => {
      const found = card();
      if (found !== undefined) perform(found);
    };
    element.addEventListener('click', () => act((found) => this.actions.open(found)));
    element.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        act((found) => this.actions.open(found));
      }
      const moves: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const move = moves[event.key];
      if (move === undefined) return;
      event.preventDefault();
      if (event.altKey) act((found) => this.shift(found, ...move));
      else this.moveFocus(element, ...move);
    });
    element.addEventListener('dragstart', () => {
      this.dragged = card();
      element.classList.add('dragged');
    });
    element.addEventListener('dragend', () => element.classList.remove('dragged'));
    return element;
  }

  private moveFocus(from: HTMLElement, sideways: number, down: number): void {
    const bodies = this.columns.map(({ body }) => [...body.children] as HTMLElement[]);
    const column = bodies.findIndex((cards) => cards.includes(from));
    const row = bodies[column]?.indexOf(from) ?? 0;
    for (let at = column + sideways; at >= 0 && at < bodies.length; at += sideways) {
      const cards = bodies[at] ?? [];
      const next = cards[sideways === 0 ? row + down : Math.min(row, cards.length - 1)];
      next?.focus();
      if (next !== undefined || sideways === 0) return;
    }
  }

  private fill(element: HTMLElement, card: Card, isPending: boolean): void {
    const person = personOf(card.assignee);
    const set = (selector: string, text: string): HTMLElement => {
      const part = element.querySelector(selector) as HTMLElement;
      if (part.textContent !== text) part.textContent = text;
      return part;
    };
    set('h3', card.title);
    set('.note', card.note ?? '').hidden = (card.note ?? '') === '';
    const avatar = set('.avatar', person?.name[0] ?? '?');
    avatar.title = person?.name ?? 'nobody yet';
    avatar.style.setProperty('--hue', String(person?.hue ?? 0));
    avatar.classList.toggle('nobody', person === undefined);
    set('.priority', priorities[card.priority] ?? '').dataset['level'] = String(card.priority);
    const due = set('.due', card.due === null ? '' : dayText(card.due));
    due.classList.toggle('late', card.due !== null && card.list !== 'done' && card.due < today());
    (element.querySelector('.wait') as HTMLElement).hidden = !isPending;
    element.classList.toggle('pending', isPending);
    const facts = [person === undefined ? 'nobody yet' : `assigned to ${person.name}`, `${priorities[card.priority] ?? ''} priority`];
    if (card.due !== null) facts.push(`due ${dayText(card.due)}`);
    element.setAttribute('aria-label', `${card.title}: ${facts.join(', ')}`);
  }

  private positions(): Map<HTMLElement, DOMRect> {
    return new Map([...this.drawn.values()].map(({ element }) => [element, element.getBoundingClientRect()]));
  }

  private animate(before: ReadonlyMap<HTMLElement, DOMRect>): void {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    for (const { element } of this.drawn.values()) {
      const was = before.get(element);
      if (was === undefined) continue;
      const is = element.getBoundingClientRect();
      const [x, y] = [was.left - is.left, was.top - is.top];
      if (x === 0 && y === 0) continue;
      element.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }], { duration: 220, easing: 'ease-out' });
    }
  }

  /** A card that left is seen going. */
  private sayGoodbye(element: HTMLElement): void {
    const ghost = element.cloneNode(true) as HTMLElement;
    const box = element.getBoundingClientRect();
    element.remove();
    ghost.className = 'card ghost';
    ghost.removeAttribute('tabindex');
    ghost.setAttribute('aria-hidden', 'true');
    Object.assign(ghost.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px` });
    document.body.append(ghost);
    setTimeout(() => ghost.remove(), 450);
  }
}

function placeAt(others: readonly Item<Card>[], at: number): number {
  const before = others[at - 1]?.record.place;
  const after = others[at]?.record.place;
  if (before === undefined) return after === undefined ? 1 : after - 1;
  return after === undefined ? before + 1 : (before + after) / 2;
}

function flash(element: HTMLElement): void {
  element.classList.remove('changed');
  void element.offsetWidth; // starts the motion again
  element.classList.add('changed');
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function dayText(day: string): string {
  return new Date(`${day}T12:00:00`).toLocaleDateString('en', { day: 'numeric', month: 'short' });
}
