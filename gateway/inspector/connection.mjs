// One connection with its subscriptions.

import { ask, Refused } from './api.mjs';
import { bytes, chip, count, fill, h, time } from './dom.mjs';
import { prefill } from './explain.mjs';
import { stateOf } from './lists.mjs';
import { stages } from './overview.mjs';

/** @param {string} name @param {import('./dom.mjs').Child} value */
function fact(name, value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}

export class ConnectionPane {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.title = h('h2', {}, `Connection ${id}`);
    this.state = h('p', { class: 'inline' });
    this.facts = h('dl', { class: 'facts' });
    this.streams = h('div');
    this.claims = h('div');
    this.element = h('article', { class: 'one' },
      h('p', {}, h('a', { href: '#/connections' }, '← All connections')),
      h('header', { class: 'inline' }, this.title, this.state), this.facts, this.streams, this.claims);
  }

  async refresh() {
    try {
      this.show(await ask('inspect/connection', { id: this.id }));
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      fill(this.state, chip('has ended'));
      this.element.classList.add('ended');
    }
  }

  /** @param {any} all */
  show(all) {
    fill(this.state, stateOf(all));
    fill(this.facts,
      fact('Principal', all.principal ?? 'anonymous'), fact('Issuer', all.issuer ?? '–'), fact('Address', h('code', {}, all.address)),
      fact('Client', all.client ?? '–'), fact('Open for', time(all.age_ms)), fact('Heard', all.heard_ms === undefined ? '–' : `${time(all.heard_ms)} ago`),
      fact('Waits to be written', bytes(all.queue_bytes)),
      fact('Token ends', all.expires_seconds === undefined ? '–' : all.expires_seconds > 31_536_000 ? 'never' : `in ${time(Math.max(all.expires_seconds, 0) * 1000)}`));
    const claims = all.claims === undefined ? '{}' : JSON.stringify(all.claims);
    this.showStreams(all, claims);
    const isOpen = this.claims.querySelector('details')?.open ?? false;
    fill(this.claims, all.claims === undefined ? null : h('details', { open: isOpen }, h('summary', {}, 'Claims of the token'), h('pre', {}, JSON.stringify(all.claims, null, 2))));
  }

  /** @param {any} all @param {string} claims */
  showStreams(all, claims) {
    if (all.streams.length === 0) return fill(this.streams, h('p', { class: 'nothing' }, 'It has no view open.'));
    const labels = ['View', 'Space', 'Does', 'Has', 'Head', 'Waits', ''];
    const rows = all.streams.map((/** @type {any} */ stream) => {
      const [first] = stream.names;
      const params = JSON.stringify(first?.params ?? {});
      const ids = stream.names.map((/** @type {any} */ each) => each.id).join(', ');
      const explain = h('a', { href: '#/explain', onclick: () => prefill({ space: stream.space, view: stream.view, params, claims }) }, 'Explain a record');
      const cells = [
        [h('span', { class: 'strong' }, stream.view), h('code', { class: 'condition' }, `${ids} ${params === '{}' ? '' : params}`)],
        h('a', { href: `#/tail?space=${encodeURIComponent(stream.space)}` }, stream.space),
        chip(stages[/** @type {keyof typeof stages} */ (stream.stage)] ?? stream.stage, stream.behind ? 'busy' : 'good'),
        count(stream.through), count(stream.head), bytes(stream.unwritten_bytes), explain,
      ];
      return h('tr', {}, cells.map((cell, at) => h('td', { class: at > 2 && at < 6 ? 'figure' : undefined, 'data-label': labels[at] }, cell)));
    });
    const had = this.streams.contains(document.activeElement) ? [...this.streams.querySelectorAll('a')].indexOf(/** @type {any} */ (document.activeElement)) : -1;
    fill(this.streams, h('h3', {}, 'Subscriptions'),
      h('div', { class: 'scroll' }, h('table', {}, h('caption', { class: 'unseen' }, 'Subscriptions'),
        h('thead', {}, h('tr', {}, labels.map((each, at) => h('th', { scope: 'col', class: at > 2 && at < 6 ? 'figure' : undefined }, each === '' ? h('span', { class: 'unseen' }, 'What can be done') : each)))),
        h('tbody', {}, rows))),
      all.streams_left_out > 0 ? h('p', { class: 'quiet' }, `${count(all.streams_left_out)} more are not shown.`) : null);
    this.streams.querySelectorAll('a')[had]?.focus();
  }
}
