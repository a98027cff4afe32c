// The board: one optimistic view of the cards, through the SDK and nothing else.

import { connect, indexedDbStorage, optimistic, writer, type Client, type SocketConstructor, type Storage, type Writer } from '@viewgate/client';
import { Columns } from './columns.js';
import { ask, prepareDialog } from './dialog.js';
import { Line } from './line.js';
import type { Model } from '../model.js';
import { findGateway, part, setText, tokenFor } from '../page.js';
import { drawConnection, drawPanel, Feed, preparePanel, tellRejection } from './panel.js';
import { people, personOf, sees, type Card, type Cards, type Person } from './people.js';
import { toast } from './toast.js';

const space = 'launch';

interface Session {
  readonly person: Person;
  readonly client: Client<Model>;
  readonly write: Writer<Model>;
  readonly cards: Cards;
  readonly columns: Columns;
  readonly storage: Storage;
}

let session: Session | undefined;
let gateway = '';
let isDrawing = false;
let signingIn = Promise.resolve();
const feed = new Feed();
const address = new URLSearchParams(location.hash.slice(1));

async function signIn(person: Person): Promise<void> {
  const before = session;
  session = undefined;
  before?.columns.close();
  before?.cards.close();
  before?.client.close();
  await before?.storage.close();
  // Sets and unsent changes are kept for this person, and nobody else is shown them.
  const storage = await indexedDbStorage({ principal: person.id });
  const client = connect<Model>({
    url: gateway,
    token: () => tokenFor(`person=${person.id}`),
    store: storage.store,
    WebSocket: Line as unknown as SocketConstructor,
  });
  const write = writer(client, { store: storage.mutations });
  const view = client.subscribe('board', { space });
  const cards = optimistic(write, view, { collection: 'cards', key: ['id'], includes: (card) => sees(person, card) });
  const columns = new Columns(part('#board'), cards, { open: (card) => void edit(card), move });
  session = { person, client, write, cards, columns, storage };
  Object.assign(globalThis, { board: session });
  feed.clear();
  view.subscribe((change) => feed.add(change));
  cards.subscribe(draw);
  write.onChange(draw);
  write.onRejected(({ reason, groups }) => tellRejection(reason, groups));
  view.onState(draw);
  client.onState(draw);
  client.onError(({ code, message }) => code === 'denied' && toast(message, 'bad'));
  draw();
}

function move(card: Card, list: string, place: number): void {
  void session?.cards.update([card.id], { list, place }).catch(() => undefined);
}

async function edit(card: Card): Promise<void> {
  const seen = session?.cards.view.sequence;
  const answer = await ask(card, false);
  if (answer === undefined || session === undefined) return;
  if (answer.isDeleted) {
    session.cards.delete([card.id]).catch(() => undefined);
    return;
  }
  const changed = Object.fromEntries(
    Object.entries(answer.values).filter(([name, value]) => value !== card[name as keyof Card]),
  ) as Model['tables']['cards']['update'];
  if (Object.keys(changed).length === 0) return;
  // Two people who plan the same card at once should hear of each other.
  const isPlanned = 'due' in changed || 'priority' in changed;
  const guard = isPlanned && seen !== undefined ? { guard: ['plan'], seen } : {};
  session.cards.update([card.id], changed, guard).catch(() => undefined);
}

async function create(): Promise<void> {
  const answer = await ask({ assignee: session?.person.id ?? null }, true);
  if (answer === undefined || session === undefined) return;
  const places = [...session.cards.items()].filter(({ record }) => record.list === answer.values.list).map(({ record }) => record.place);
  const card: Card = { id: crypto.randomUUID(), ...answer.values, place: Math.floor(Math.min(1, ...places)) - 1 };
  session.cards.create(card).catch(() => undefined);
  draw();
}

/** Once a frame, however much happened. */
function draw(): void {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    if (session === undefined) return;
    const { client, cards, columns, write } = session;
    const { status } = cards.view;
    columns.draw(cards.size > 0 || status === 'live' || status === 'catching_up');
    drawPanel(cards.view, cards.size, write);
    drawConnection(client, cards.view, write);
  });
}

function preparePeople(): void {
  const container = part('#people');
  container.replaceChildren(
    ...people.map((person) => {
      const label = document.createElement('label');
      label.title = person.role === 'lead' ? `${person.name}, who leads and sees every card` : `${person.name}, who sees own cards and free ones`;
      label.innerHTML = '<input type="radio" name="person"><span class="avatar"></span><span class="name"></span>';
      const input = label.querySelector('input') as HTMLInputElement;
      input.value = person.id;
      input.checked = person.id === (address.get('as') ?? 'ada');
      input.addEventListener('change', () => choose('as', person.id));
      const avatar = label.querySelector('.avatar') as HTMLElement;
      avatar.textContent = person.name[0] ?? '';
      avatar.style.setProperty('--hue', String(person.hue));
      setText(label.querySelector('.name') as HTMLElement, person.name);
      return label;
    }),
  );
  const beside = part<HTMLSelectElement>('#beside-person');
  beside.replaceChildren(new Option('nobody', ''), ...people.map(({ id, name }) => new Option(name, id)));
  beside.value = address.get('beside') ?? '';
  beside.addEventListener('change', () => choose('beside', beside.value));
}

function choose(name: 'as' | 'beside', value: string): void {
  if (value === '') address.delete(name);
  else address.set(name, value);
  history.replaceState(null, '', `#${address.toString()}`);
  follow();
}

/** Does what the address says. */
function follow(): void {
  const person = personOf(address.get('as')) ?? (people[0] as Person);
  if (session?.person !== person) signingIn = signingIn.then(() => signIn(person));
  const frame = part<HTMLIFrameElement>('#beside');
  const other = personOf(address.get('beside'));
  frame.hidden = other === undefined;
  const wanted = other === undefined ? 'about:blank' : `/board#as=${other.id}&inside=1`;
  if (frame.getAttribute('src') !== wanted) frame.setAttribute('src', wanted);
  if (other !== undefined) frame.contentWindow?.location.replace(wanted);
}

async function start(): Promise<void> {
  document.body.classList.toggle('inside', address.has('inside'));
  prepareDialog();
  preparePeople();
  preparePanel(() => session?.client.retry());
  part('#new').addEventListener('click', () => void create());
  document.addEventListener('keydown', (event) => {
    // The dialog has all fields for text; on the page there is a selection, which takes letters, and there are switches, which take none.
    const isTyping = event.target instanceof HTMLSelectElement;
    if (event.key.toLowerCase() !== 'n' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    void create();
  });
  setInterval(draw, 500);
  gateway = await findGateway();
  follow();
}

void start();
