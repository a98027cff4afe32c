// The frame: signing in, which page is shown, and when it is looked at again.

import { ask, dropKey, hasKey, keepKey, Refused } from './api.mjs';
import { ConnectionPane } from './connection.mjs';
import { fill, h } from './dom.mjs';
import { ExplainPane } from './explain.mjs';
import { connectionsList, groupsList, spacesList, ViewsPane } from './lists.mjs';
import { OverviewPane, unknownVerdict, verdictOf } from './overview.mjs';
import { TailPane } from './tail.mjs';

/** @typedef {{element: Element, refresh: () => Promise<void>, showOverview?: (overview: any) => void, showVerdict?: (verdict: import('./overview.mjs').Verdict) => void}} Pane */
/** @typedef {Record<string, string>} State */
/** @typedef {{title: string, every: number, tab?: boolean, make: (state: State, onState: (state: State) => void) => Pane}} Place */

/** `every`: milliseconds between two looks. @type {Record<string, Place>} */
const places = {
  overview: { title: 'Overview', every: 10_000, make: () => new OverviewPane() },
  spaces: { title: 'Spaces', every: 3000, make: spacesList },
  views: { title: 'Views', every: 5000, make: () => new ViewsPane() },
  groups: { title: 'Groups', every: 5000, make: groupsList },
  connections: { title: 'Connections', every: 5000, make: connectionsList },
  connection: { title: 'Connection', every: 2000, tab: false, make: (state) => new ConnectionPane(state['id'] ?? '') },
  tail: { title: 'Live tail', every: 1000, make: (state, onState) => new TailPane(state['space'] ?? '', onState) },
  explain: { title: 'Explain', every: 60_000, make: () => new ExplainPane() },
};
const overviewEvery = 2000;
const wrongKey = 'This key is not the operators’ key of this node.';

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const header = byId('header');
const content = byId('content');
const trouble = byId('trouble');
const verdict = byId('verdict');

/** @type {{name: string, pane: Pane} | undefined} */
let shown;
let isPaused = false;
/** @type {any} */
let overview;
/** Each showing has a number: what an older one still waits for is nobody's. */
let showing = 0;
/** What the addresses of pages hold, as the page itself has changed it. */
let written = '';

/** @returns {{name: string, state: State}} */
function addressed() {
  const [, name = '', query = ''] = /^#\/([a-z]*)(?:\?(.*))?$/.exec(location.hash) ?? [];
  return { name: Object.hasOwn(places, name) ? name : 'overview', state: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {string} name @param {State} state */
function writeAddress(name, state) {
  const query = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== '')).toString();
  written = `#/${name}${query === '' ? '' : `?${query}`}`;
  history.replaceState(null, '', written);
}

/** What is wrong with the newest look of each kind. @type {Record<'overview' | 'page', string>} */
const faults = { overview: '', page: '' };

function showFaults() {
  const fault = faults.overview === '' ? faults.page : faults.overview;
  trouble.hidden = fault === '';
  trouble.textContent = `${fault} What is shown may be old; it is asked again.`;
  if (faults.overview === '') return;
  // Whoever looks up now must not take the last answer for this moment's.
  overview = undefined;
  showVerdict(unknownVerdict);
  shown?.pane.showVerdict?.(unknownVerdict);
}

/**
 * Looks again and again, until something else is shown.
 * @param {'overview' | 'page'} kind
 * @param {number} every milliseconds
 * @param {() => Promise<void>} look
 */
async function keepLooking(kind, every, look) {
  const mine = showing;
  while (mine === showing) {
    if (!isPaused && !document.hidden) {
      let fault = '';
      try {
        await look();
      } catch (error) {
        if (mine === showing && error instanceof Refused && error.status === 401) return signOut(wrongKey);
        fault = /** @type {Error} */ (error).message;
      }
      if (mine !== showing) return;
      faults[kind] = fault;
      showFaults();
    }
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

/** @param {import('./overview.mjs').Verdict} of */
function showVerdict(of) {
  verdict.dataset.state = of.state;
  byId('verdict-text').textContent = of.text;
}

async function lookAtOverview() {
  overview = await ask('inspect/overview');
  showVerdict(verdictOf(overview));
  byId('node').textContent = `${overview.node.name} · ${overview.node.version}`;
  shown?.pane.showOverview?.(overview);
}

function showTabs() {
  const tabs = Object.entries(places).filter(([, place]) => place.tab !== false);
  fill(byId('tabs'), tabs.map(([name, place]) => h('a', { href: `#/${name}`, 'aria-current': name === shown?.name || (name === 'connections' && shown?.name === 'connection') ? 'page' : undefined }, place.title)));
}

function show() {
  if (!hasKey()) return showSignIn();
  const { name, state } = addressed();
  const place = /** @type {Place} */ (places[name]);
  showing++;
  const pane = place.make(state, (next) => writeAddress(name, next));
  shown = { name, pane };
  header.hidden = false;
  document.title = `${place.title} · viewgate inspector`;
  showTabs();
  fill(content, pane.element);
  if (overview !== undefined) pane.showOverview?.(overview);
  Object.assign(faults, { overview: '', page: '' });
  void keepLooking('overview', overviewEvery, lookAtOverview);
  void keepLooking('page', place.every, () => pane.refresh());
}

/** @param {string} [fault] */
function showSignIn(fault = '') {
  showing++;
  shown = undefined;
  header.hidden = true;
  trouble.hidden = true;
  document.title = 'Sign in · viewgate inspector';
  const key = h('input', { id: 'key', type: 'password', name: 'key', required: true, autocomplete: 'current-password', spellcheck: 'false', 'aria-describedby': 'key-note' });
  const told = h('p', { class: 'trouble', role: 'alert', hidden: fault === '' }, fault);
  const button = h('button', { type: 'submit', class: 'main' }, 'Sign in');
  const signIn = async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    keepKey(key.value);
    try {
      overview = await ask('inspect/overview');
      show();
    } catch (error) {
      dropKey();
      const isWrong = error instanceof Refused && error.status === 401;
      told.textContent = isWrong ? wrongKey : /** @type {Error} */ (error).message;
      told.hidden = false;
      button.disabled = false;
      key.select();
    }
  };
  fill(content, h('form', { class: 'signin', onsubmit: signIn },
    h('h1', {}, h('img', { src: 'inspector/icon.svg', alt: '', width: 40, height: 40 }), ' viewgate inspector'),
    h('label', { for: 'key' }, 'The operators’ key'), key,
    h('p', { class: 'quiet', id: 'key-note' }, 'What is in the file of admin.key_file. It is kept until this tab is closed, and sent to this node alone.'),
    told, button));
  key.focus();
}

/** @param {string} [fault] */
function signOut(fault) {
  dropKey();
  overview = undefined;
  showSignIn(fault);
}

byId('leave').addEventListener('click', () => signOut());
byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  byId('pause').setAttribute('aria-pressed', String(isPaused));
  byId('pause').textContent = isPaused ? 'Go on' : 'Pause';
});
addEventListener('hashchange', () => {
  if (location.hash !== written) show();
});
show();
