// The first page: is everyone caught up, and if not, who is not.

import { ask } from './api.mjs';
import { bytes, count, fill, h, of, time } from './dom.mjs';

/** What the stages of a subscription mean to an operator, in the order in which they are shown. */
export const stages = {
  following: 'live',
  joining: 'waits for its space',
  returning: 'comes back',
  confirming: 'comes back',
  bootstrapping: 'waits for its snapshot',
  snapshot: 'is sent its snapshot',
  catching_up: 'catches up',
  history: 'catches up',
};

/** @typedef {{state: 'good' | 'busy' | 'bad' | 'unknown', text: string, detail: string}} Verdict */

/** @type {Verdict} */
export const unknownVerdict = { state: 'unknown', text: 'Not known', detail: 'This node does not answer now. The figures below are those of its last answer.' };

/** @param {any} overview @returns {Verdict} */
export function verdictOf(overview) {
  const { subscriptions, spaces } = overview;
  if (!overview.database_available) {
    return { state: 'bad', text: 'The database does not answer', detail: 'Clients were told that what they see is old. Nothing is lost: it goes on when PostgreSQL is back.' };
  }
  if (spaces.late > 0) {
    return { state: 'bad', text: `${of(spaces.late, 'space is', 'spaces are')} late`, detail: 'Commits have waited for more than a second. The spaces furthest behind are below.' };
  }
  if (subscriptions.behind > 0) {
    return { state: 'busy', text: `${count(subscriptions.behind)} of ${of(subscriptions.open, 'subscription is', 'subscriptions are')} behind`, detail: 'They begin, come back, or their sockets take nothing. The others are live.' };
  }
  const detail = subscriptions.open === 0 ? 'No client has a view open on this node.' : `${of(subscriptions.open, 'subscription has', 'subscriptions have')} everything that this node has read.`;
  return { state: 'good', text: 'Everyone is caught up', detail };
}

/** @param {string} label @param {import('./dom.mjs').Child} figure @param {string} [note] @param {string} [link] */
function tile(label, figure, note = '', link = '') {
  const name = link === '' ? label : h('a', { href: link }, label);
  return h('div', { class: 'tile' }, h('dt', {}, name), h('dd', {}, h('strong', {}, figure), h('span', { class: 'quiet' }, note)));
}

/** @param {string} title @param {string[]} labels @param {any[][]} rows @param {string} empty */
function small(title, labels, rows, empty) {
  const table = h('div', { class: 'scroll' }, h('table', {}, h('caption', { class: 'unseen' }, title),
    h('thead', {}, h('tr', {}, labels.map((each, at) => h('th', { scope: 'col', class: at > 0 ? 'figure' : undefined }, each)))),
    h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell, at) => h('td', { class: at > 0 ? 'figure' : undefined, 'data-label': labels[at] }, cell)))))));
  return h('section', { class: 'card' }, h('h2', {}, title), rows.length > 0 ? table : h('p', { class: 'nothing' }, empty));
}

export class OverviewPane {
  constructor() {
    this.banner = h('div', { class: 'banner', 'data-state': 'unknown' });
    this.tiles = h('dl', { class: 'tiles' });
    this.bar = h('div', { class: 'bar', 'aria-hidden': 'true' });
    this.legend = h('ul', { class: 'legend' });
    this.stages = h('section', { class: 'card' }, h('h2', {}, 'Subscriptions by what they are doing'), this.bar, this.legend);
    this.tables = h('div', { class: 'columns' });
    this.element = h('div', { class: 'overview' }, this.banner, this.tiles, this.stages, this.tables);
    /** @type {any[]} */
    this.nodes = [];
    this.nodesFault = '';
    this.nodesCard = this.others();
    /** @type {{at: number, commits: number, documents: number} | undefined} */
    this.before = undefined;
  }

  /** What only the database knows; the rest comes with `showOverview`. */
  async refresh() {
    try {
      this.nodes = (await ask('inspect/nodes')).nodes;
      this.nodesFault = '';
    } catch (error) {
      this.nodes = [];
      this.nodesFault = /** @type {Error} */ (error).message;
    }
    this.nodesCard.replaceWith((this.nodesCard = this.others()));
  }

  /** @param {any} overview */
  showOverview(overview) {
    this.showVerdict(verdictOf(overview));
    this.showTiles(overview);
    this.showStages(overview.subscriptions);
    fill(this.tables, this.spaces(overview), this.nodesCard, this.reactors(overview));
  }

  /** @param {Verdict} verdict */
  showVerdict(verdict) {
    this.banner.dataset.state = verdict.state;
    fill(this.banner, h('p', { class: 'large' }, verdict.text), h('p', {}, verdict.detail));
  }

  /** @param {any} overview */
  showTiles(overview) {
    const now = { at: performance.now(), commits: overview.commits, documents: overview.documents };
    const before = this.before;
    if (before === undefined || now.at - before.at > 1500) this.before = now;
    const seconds = before === undefined ? 0 : (now.at - before.at) / 1000;
    const rate = (/** @type {number} */ was, /** @type {number} */ is) => (seconds > 0.2 ? `${count(Math.round((is - was) / seconds))} / s` : '–');
    const furthest = overview.spaces.furthest[0];
    fill(this.tiles,
      tile('Longest wait', furthest === undefined ? '0 ms' : time(furthest.lag_ms), furthest === undefined ? 'no commit waits' : `in ${furthest.space}`, '#/spaces'),
      tile('Connections', overview.connections, overview.blocked === 0 ? 'all sockets take what they get' : `${of(overview.blocked, 'socket takes', 'sockets take')} nothing`, '#/connections'),
      tile('Subscriptions', overview.subscriptions.open, `of ${of(overview.groups, 'group', 'groups')}`, '#/groups'),
      tile('Spaces', overview.spaces.followed, overview.wakeups === 'listen' ? 'PostgreSQL wakes this node' : 'no wake-ups: this node polls', '#/spaces'),
      tile('Commits', rate(before?.commits ?? 0, now.commits), `${count(now.commits)} since the start`),
      tile('Documents encoded', rate(before?.documents ?? 0, now.documents), 'one for each commit and group', '#/views'),
      tile('Memory', bytes(overview.resident_bytes), `up for ${time(overview.node.uptime_seconds * 1000)}`),
      tile('Descriptors', overview.open_descriptors, `of ${count(overview.max_descriptors)}`));
  }

  /** @param {any} subscriptions */
  showStages(subscriptions) {
    this.stages.hidden = subscriptions.open === 0;
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const [stage, label] of Object.entries(stages)) sums.set(label, (sums.get(label) ?? 0) + subscriptions.stages[stage]);
    const shown = [...sums].filter(([label, sum]) => sum > 0 || label === 'live');
    fill(this.bar, shown.map(([label, sum]) => {
      const part = h('span', { 'data-stage': label });
      part.style.flexGrow = String(sum);
      return part;
    }));
    fill(this.legend, shown.map(([label, sum]) => h('li', { 'data-stage': label }, h('span', { class: 'dot' }), ` ${label} `, h('strong', {}, sum))));
  }

  /** @param {any} overview */
  spaces(overview) {
    const rows = overview.spaces.furthest.map((/** @type {any} */ each) => [h('a', { href: `#/tail?space=${encodeURIComponent(each.space)}` }, each.space), each.lag_commits, time(each.lag_ms)]);
    return small('Spaces furthest behind', ['Space', 'Commits', 'For'], rows, 'No space has a commit that waits.');
  }

  /** @param {any} overview */
  reactors(overview) {
    const rows = overview.reactors.map((/** @type {any} */ each) => [String(each.reactor), each.connections, each.subscriptions.open, each.blocked, bytes(each.queue_bytes), bytes(each.ring_bytes)]);
    return small('Reactors', ['Thread', 'Connections', 'Subscriptions', 'Blocked', 'Waits', 'Rings'], rows, 'There are none.');
  }

  others() {
    const rows = this.nodes.map((each) => [h('span', {}, each.node === '' ? 'a node' : each.node, each.this ? ' (this one)' : ''), each.address === '' ? 'local' : each.address, each.since === '' ? '–' : time(Date.now() - Date.parse(each.since))]);
    return small('Nodes on this database', ['Node', 'From', 'Follows for'], rows, this.nodesFault === '' ? 'Asking the database.' : this.nodesFault);
  }
}
