// Spaces, views, groups and connections: long lists, a page at a time.

import { ask } from './api.mjs';
import { bytes, chip, count, fill, h, time } from './dom.mjs';
import { PagedTable } from './table.mjs';

/** @typedef {Record<string, string>} State */
/** @typedef {(state: State) => void} OnState */

/** @param {string} text */
const word = (text) => encodeURIComponent(text);

/** @param {State} state @param {OnState} onState */
export function spacesList(state, onState) {
  return new PagedTable({
    caption: 'Spaces', path: 'inspect/spaces', rows: 'spaces', sort: '-lag_seconds', search: 'Search spaces by name', state, onState,
    empty: 'This node follows no space: nobody has a view open.',
    id: (row) => row.space,
    columns: [
      { label: 'Space', sort: 'space', first: 'up', cell: (row) => h('a', { href: `#/tail?space=${word(row.space)}` }, row.space) },
      { label: 'Behind for', sort: 'lag_seconds', figure: true, cell: (row) => (row.lag_commits === 0 ? chip('caught up', 'good') : chip(time(row.lag_ms), row.lag_ms < 1000 ? 'busy' : 'bad')) },
      { label: 'Commits behind', sort: 'lag_commits', figure: true, cell: (row) => row.lag_commits },
      { label: 'Head', sort: 'head', figure: true, cell: (row) => (row.following ? count(row.head) : 'asking') },
      { label: 'Groups', sort: 'groups', figure: true, cell: (row) => h('a', { href: `#/groups?q=${word(row.space)}` }, row.groups) },
      { label: 'Recent commits', sort: 'recent_bytes', figure: true, cell: (row) => bytes(row.recent_bytes) },
    ],
  });
}

/** @param {State} state @param {OnState} onState */
export function groupsList(state, onState) {
  const view = state['view'] ?? '';
  return new PagedTable({
    caption: 'Groups', path: 'inspect/groups', rows: 'groups', sort: '-subscribers', search: 'Search groups by view or space', state, onState,
    empty: 'This node follows no group: nobody has a view open.',
    controls: view === '' ? [] : [h('a', { class: 'chip', href: '#/groups', 'aria-label': `only of view ${view}: show all` }, `view ${view} ×`)],
    id: (row) => row.group,
    columns: [
      { label: 'View', sort: 'view', first: 'up', cell: (row) => [h('span', { class: 'strong' }, row.view), h('code', { class: 'condition', title: row.condition }, row.condition)] },
      { label: 'Space', sort: 'space', first: 'up', cell: (row) => row.space },
      { label: 'Subscribers', sort: 'subscribers', figure: true, cell: (row) => row.subscribers },
      { label: 'Commits that touched it', sort: 'documents', figure: true, cell: (row) => row.documents },
      { label: 'Encoded', sort: 'document_bytes', figure: true, cell: (row) => bytes(row.document_bytes) },
      { label: 'Rings', sort: 'ring_bytes', figure: true, cell: (row) => bytes(row.ring_bytes) },
      { label: 'Failed evaluations', figure: true, cell: (row) => (row.evaluation_errors === 0 ? 0 : chip(count(row.evaluation_errors), 'busy')) },
    ],
  });
}

/** @param {State} state @param {OnState} onState */
export function connectionsList(state, onState) {
  /** @type {PagedTable} */
  let table;
  const behind = h('input', { type: 'checkbox', checked: state['behind'] === 'only', onchange: () => void table.change({ behind: behind.checked ? 'only' : '' }).catch(() => undefined) });
  table = new PagedTable({
    caption: 'Connections', path: 'inspect/connections', rows: 'connections', sort: '-queue_bytes', search: 'Search by principal, client, address or id', state, onState,
    empty: 'Nobody is connected to this node.',
    controls: [h('label', { class: 'check' }, behind, ' only those behind')],
    id: (row) => row.id,
    columns: [
      { label: 'Connection', cell: (row) => h('a', { href: `#/connection?id=${word(row.id)}` }, row.id) },
      { label: 'Principal', sort: 'principal', first: 'up', cell: (row) => row.principal ?? h('span', { class: 'quiet' }, row.state === 'open' ? 'anonymous' : `not known yet (${row.state})`) },
      { label: 'Address', sort: 'address', first: 'up', cell: (row) => h('code', {}, row.address) },
      { label: 'Since', sort: 'age', figure: true, cell: (row) => time(row.age_ms) },
      { label: 'Subscriptions', sort: 'subscriptions', figure: true, cell: (row) => row.subscriptions },
      { label: 'Waits', sort: 'queue_bytes', figure: true, cell: (row) => bytes(row.queue_bytes) },
      { label: 'Behind', sort: 'behind', figure: true, cell: (row) => stateOf(row) },
    ],
  });
  return table;
}

/** @param {any} row of a connection */
export function stateOf(row) {
  if (row.blocked_ms !== undefined) return chip(`takes nothing for ${time(row.blocked_ms)}`, 'bad');
  if (row.behind > 0) return chip(`${count(row.behind)} behind`, 'busy');
  return row.subscriptions === 0 ? chip('no views') : chip('live', 'good');
}

/** Few enough to be shown at once: as many as the model has. */
export class ViewsPane {
  constructor() {
    this.body = h('tbody');
    this.table = h('table', {}, h('caption', { class: 'unseen' }, 'Views'),
      h('thead', {}, h('tr', {}, ViewsPane.labels.map((each, at) => h('th', { scope: 'col', class: at > 1 ? 'figure' : undefined }, each)))), this.body);
    this.nothing = h('p', { class: 'nothing', hidden: true }, 'Nobody has a view open on this node.');
    this.element = h('section', { class: 'list', 'aria-label': 'Views' }, h('div', { class: 'scroll' }, this.table), this.nothing);
  }

  static labels = ['View', 'Version', 'Groups', 'Subscribers', 'Documents', 'Encoded', 'Rings', 'Failed evaluations'];

  async refresh() {
    const { views } = await ask('inspect/views');
    views.sort((/** @type {any} */ one, /** @type {any} */ other) => other.document_bytes - one.document_bytes || (one.view < other.view ? -1 : 1));
    fill(this.body, views.map((/** @type {any} */ row) => {
      const cells = [h('a', { href: `#/groups?view=${word(row.view)}` }, row.view), h('code', {}, row.version.slice(0, 8)), row.groups, row.subscribers, row.documents, bytes(row.document_bytes), bytes(row.ring_bytes), row.evaluation_errors];
      return h('tr', {}, cells.map((cell, at) => h('td', { class: at > 1 ? 'figure' : undefined, 'data-label': ViewsPane.labels[at] }, cell)));
    }));
    this.table.hidden = views.length === 0;
    this.nothing.hidden = views.length > 0;
  }
}
