// The commits of a space as they come. They are read from the database, not from this node's memory: so every space can be
// looked at, whether somebody follows it or not. What records hold is not shown: the log command and explain do that.

import { ask } from './api.mjs';
import { chip, count, fill, h, keyText, of } from './dom.mjs';
import { prefill } from './explain.mjs';

const shownMax = 200;

/** @type {Record<string, string>} */
const states = { created: 'good', updated: 'busy', deleted: 'bad', moved: 'bad' };

export class TailPane {
  /** @param {string} space @param {(state: Record<string, string>) => void} onState */
  constructor(space, onState) {
    this.space = space;
    this.last = '';
    this.input = h('input', { name: 'space', 'aria-label': 'Space', placeholder: 'Space', value: space, required: true, spellcheck: 'false', autocomplete: 'off', list: 'spaces' });
    this.known = h('datalist', { id: 'spaces' });
    this.form = h('form', {
      class: 'tools',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        this.begin(this.input.value);
        onState({ space: this.space });
        void this.refresh().catch(() => undefined);  // the next look tells what is wrong
      },
    }, this.input, this.known, h('button', { type: 'submit', class: 'main' }, 'Follow'));
    this.summary = h('p', { class: 'quiet', role: 'status' });
    this.list = h('ol', { class: 'commits', 'aria-label': 'Commits, the newest first' });
    this.element = h('section', { class: 'tail' }, this.form, this.summary, this.list);
    this.begin(space);
  }

  /** @param {string} space */
  begin(space) {
    this.space = space;
    this.last = '';
    fill(this.list);
    this.summary.textContent = space === '' ? 'Say which space to follow.' : 'Asking for the newest commits.';
  }

  async refresh() {
    if (this.known.childElementCount === 0) {
      const { spaces } = await ask('inspect/spaces', { sort: 'space', limit: 200 });
      fill(this.known, spaces.map((/** @type {any} */ each) => h('option', { value: each.space })));
    }
    const { space, last } = this;
    if (space === '') return;
    const answer = await ask('inspect/commits', { space, after: last, limit: last === '' ? 30 : shownMax });
    if (space !== this.space || last !== this.last) return;
    this.show(answer);
  }

  /** @param {any} answer */
  show(answer) {
    const isFirst = this.last === '';
    // Behind a restore the numbers begin lower: then all of it is looked at anew.
    if (!isFirst && BigInt(answer.head) < BigInt(this.last)) return this.begin(this.space);
    for (const commit of answer.commits) {
      const item = this.item(commit);
      if (!isFirst) item.classList.add('new');
      this.list.prepend(item);
    }
    while (this.list.childElementCount > shownMax) this.list.lastElementChild.remove();
    this.last = answer.commits.at(-1)?.sequence ?? (isFirst ? answer.head : this.last);
    this.summary.textContent = answer.head === '0' ? `Nobody has written to ${this.space} yet.` : `Head ${count(answer.head)}; the log begins at ${count(answer.retained_from)}.`;
  }

  /** @param {any} commit */
  item(commit) {
    const who = commit.principal === undefined ? `${commit.role} (${commit.source})` : `${commit.principal} (${commit.source})`;
    const at = new Date(commit.at);
    return h('li', { 'data-sequence': commit.sequence },
      h('p', { class: 'commit' }, h('strong', {}, count(commit.sequence)), h('time', { datetime: commit.at, title: commit.at }, at.toLocaleTimeString('en-GB')),
        h('span', {}, who), commit.request_id === undefined ? null : h('code', {}, commit.request_id), h('span', { class: 'quiet' }, of(commit.changes, 'change', 'changes'))),
      h('ul', { class: 'changes' }, commit.first.map((/** @type {any} */ each) => this.change(each)),
        commit.changes > commit.first.length ? h('li', { class: 'quiet' }, `and ${count(commit.changes - commit.first.length)} more`) : null));
  }

  /** @param {any} change */
  change(change) {
    const record = JSON.stringify(change.key);
    const name = `${change.collection} ${keyText(change.key)}`;
    return h('li', {}, chip(change.kind, states[change.kind]), ' ',
      h('a', { href: '#/explain', title: 'Explain this record', onclick: () => prefill({ space: this.space, record }) }, name));
  }
}
