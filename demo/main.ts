// The demo page: one live view of pgbench's accounts, through the SDK and nothing else.

import { closeName, connectShared, type Change, type Client, type View } from '@viewgate/client';
import { Controls, RateSlider, type Choice } from './controls.js';
import { Pace, Ticker } from './meters.js';
import { findGateway, part, tokenFor } from './page.js';
import { Records, type Account } from './records.js';
import { Table } from './table.js';

const shownRows = 60;

const pill = part('#connection');
const pillText = part('#connection-text');
const pillWait = part('#connection-wait');
const size = part('#size');
const sequence = part('#sequence');
const lag = part('#lag');
const pace = part('#rate-commits');
const cursor = part('#cursor');
const note = part('#records-note');
const empty = part('#empty');
const rows = part('#rows');
const table = new Table(rows);
const ticker = new Ticker(part('#ticker'));
const commits = new Pace(part<SVGPathElement>('#spark path'));

/** What is open now: the console and the browser's test look at it, too. */
interface Open {
  readonly client: Client;
  readonly view: View<Account>;
  readonly records: Records;
  readonly choice: Choice;
  commits: number;
}
let open: Open | undefined;
let gateway: string | undefined;
let isDrawing = false;
let farewells: ReturnType<typeof setTimeout> | undefined;

function look(choice: Choice): void {
  if (gateway === undefined) return;
  const before = open;
  before?.view.close();
  const isSameTeller = before !== undefined && before.choice.digit === choice.digit;
  if (before !== undefined && !isSameTeller) before.client.close();
  // Another teller is another principal: a connection of its own, which tabs of that teller share.
  const principal = `teller-${choice.digit}`;
  const client = isSameTeller ? before.client : connectShared({ principal, url: gateway, token: () => tokenFor(`digit=${choice.digit}`) });
  if (!isSameTeller) client.onState(draw);
  const params = choice.view === 'watch' ? { low: choice.low, high: choice.high } : {};
  const view = client.subscribe<Account>(choice.view, { space: choice.branch, params });
  const now: Open = { client, view, records: new Records(view), choice, commits: 0 };
  open = now;
  Object.assign(globalThis, { demo: now });
  table.scale = choice.view === 'watch' ? Math.max(1, Math.abs(choice.low), Math.abs(choice.high)) : 8_000;
  ticker.clear();
  view.subscribe((change) => {
    if (open === now) follow(now, change);
  });
  view.onState(draw);
  draw();
}

function follow(now: Open, change: Change<Account>): void {
  const at = performance.now();
  now.records.apply(change, at);
  ticker.add(change);
  if (change.kind === 'commit') {
    now.commits++;
    commits.count(at);
  }
  draw();
}

/** Once a frame, however much happened. */
function draw(): void {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawNow();
  });
}

function drawNow(): void {
  drawPill();
  if (open === undefined) return;
  const { view, records } = open;
  const now = performance.now();
  const order = document.querySelector<HTMLInputElement>('input[name="order"]:checked')?.value;
  const list = records.rows(order === 'balance' ? 'balance' : 'recent', shownRows, now);
  table.draw(list);
  ticker.draw();
  const hasSet = view.sequence !== '0' || view.status === 'live';
  size.textContent = hasSet ? view.size.toLocaleString('en') : '–';
  sequence.textContent = hasSet ? Number(view.sequence).toLocaleString('en') : '–';
  const behind = Number(view.head) - Number(view.sequence);
  lag.textContent = !hasSet || view.status === 'offline' ? '–' : behind === 0 ? 'none' : behind.toLocaleString('en');
  cursor.textContent = view.cursor === undefined ? '' : `cursor …${view.cursor.slice(-10)}`;
  document.body.classList.toggle('stale', view.status === 'offline');
  drawEmpty(open, list.length);
  clearTimeout(farewells);
  const end = records.nextEnd(now);
  if (end !== undefined) farewells = setTimeout(draw, end);
}

function drawEmpty({ view, choice }: Open, drawn: number): void {
  rows.hidden = drawn === 0;
  empty.hidden = drawn > 0;
  const isLoading = view.status === 'connecting' || view.status === 'bootstrapping';
  empty.classList.toggle('loading', isLoading);
  if (drawn === 0) {
    empty.textContent = isLoading
      ? `Reading branch ${choice.branch} …`
      : view.status === 'denied' || view.status === 'failed'
        ? view.error?.message ?? 'This view was refused.'
        : 'No account is in this view now. One that enters appears here.';
  }
  note.textContent =
    view.size > drawn && drawn > 0 ? `${drawn} of ${view.size.toLocaleString('en')} records are drawn; all of them are here.` : '\u00a0';
}

function drawPill(): void {
  const [state, text] = connectionState();
  pill.dataset['state'] = state;
  if (pillText.textContent !== text) pillText.textContent = text;
  // Apart from the status, which is read aloud whenever it changes.
  const left = open?.client.retryIn;
  const wait = state !== 'offline' || left === undefined ? '' : `again in ${(left / 1_000).toFixed(1)} s`;
  if (pillWait.textContent !== wait) pillWait.textContent = wait;
}

function connectionState(): [string, string] {
  if (open === undefined) return ['connecting', 'waiting for the gateway'];
  const { client, view } = open;
  switch (view.status) {
    case 'live':
      return client.degraded ? ['catching_up', 'the database is away'] : ['live', `live · ${client.principal ?? ''}`];
    case 'catching_up':
      return ['catching_up', 'catching up'];
    case 'bootstrapping':
    case 'connecting':
      return ['connecting', view.status === 'connecting' ? 'connecting' : 'reading the view'];
    case 'offline':
      return ['offline', client.retryIn === undefined ? 'reconnecting …' : 'offline'];
    default:
      return ['denied', view.error?.message ?? (client.lastClose === undefined ? view.status : closeName(client.lastClose))];
  }
}

async function start(): Promise<void> {
  const controls = new Controls(look);
  new RateSlider();
  for (const input of document.querySelectorAll('input[name="order"]')) input.addEventListener('change', draw);
  setInterval(() => {
    commits.nextSecond();
    draw();
  }, 1_000);
  setInterval(() => {
    const now = commits.perSecondNow(performance.now());
    pace.textContent = open === undefined ? '–' : now < 10 ? now.toFixed(1) : Math.round(now).toLocaleString('en');
    drawPill();
  }, 250);
  empty.hidden = false;
  empty.classList.add('loading');
  empty.textContent = 'Waiting for the gateway …';
  rows.hidden = true;
  gateway = await findGateway();
  look(controls.choice);
}

void start();
