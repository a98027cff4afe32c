// A table whose pages are made by the server: it never has more rows than are seen. Sort and search stand in the page's
// address, so that they survive a reload and can be sent to a colleague.

import { ask } from './api.mjs';
import { count, fill, h } from './dom.mjs';

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: any) => import('./dom.mjs').Child | import('./dom.mjs').Child[]} cell
 * @property {string} [sort] the name of the server's order
 * @property {'up' | 'down'} [first] the direction of the first click; figures are asked for from the largest down
 * @property {boolean} [figure] stands right
 */

const rowsPerPage = 50;

export class PagedTable {
  /**
   * @param {object} form
   * @param {string} form.caption
   * @param {string} form.path
   * @param {string} form.rows the member of the answer that holds them
   * @param {Column[]} form.columns
   * @param {(row: any) => string} form.id
   * @param {string} form.sort
   * @param {string} form.search what can be searched for
   * @param {string} form.empty what is said where there is nothing
   * @param {Record<string, string>} form.state q, sort and others, as the address has them
   * @param {(state: Record<string, string>) => void} form.onState
   * @param {Node[]} [form.controls]
   */
  constructor(form) {
    this.form = form;
    /** @type {Record<string, string>} */
    this.state = { sort: form.sort, ...form.state };
    /** @type {string[]} where the pages before this one began */
    this.befores = [];
    this.after = '';
    this.next = '';
    this.asked = new AbortController();
    this.search = h('input', {
      type: 'search', 'aria-label': form.search, placeholder: form.search, value: this.state['q'] ?? '', spellcheck: 'false', autocomplete: 'off',
      oninput: () => {
        clearTimeout(this.typing);
        this.typing = setTimeout(() => void this.change({ q: this.search.value.trim() }).catch(() => undefined), 250);
      },
    });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.typing = undefined;
    this.summary = h('p', { class: 'quiet', role: 'status' });
    this.back = h('button', { type: 'button', onclick: () => this.turnBack() }, '← Back');
    this.onward = h('button', { type: 'button', onclick: () => this.turnOn() }, 'Next →');
    this.head = h('thead');
    this.body = h('tbody');
    this.nothing = h('p', { class: 'nothing', hidden: true }, form.empty);
    this.element = h('section', { class: 'list', 'aria-label': form.caption },
      h('div', { class: 'tools' }, this.search, ...(form.controls ?? []), this.summary),
      h('div', { class: 'scroll' }, h('table', {}, h('caption', { class: 'unseen' }, form.caption), this.head, this.body)),
      this.nothing,
      h('div', { class: 'pager' }, this.back, this.onward));
    this.showHead();
    this.showPager();
  }

  /** @param {Record<string, string>} change of the state; begins with the first page */
  change(change) {
    Object.assign(this.state, change);
    this.befores = [];
    this.after = '';
    this.form.onState(this.state);
    this.showHead();
    return this.refresh();
  }

  async refresh() {
    this.asked.abort();
    const asked = (this.asked = new AbortController());
    this.element.setAttribute('aria-busy', 'true');
    try {
      const answer = await ask(this.form.path, { ...this.state, limit: rowsPerPage, after: this.after }, asked.signal);
      if (!asked.signal.aborted) this.show(answer);
    } catch (error) {
      if (!asked.signal.aborted) throw error;
    } finally {
      if (this.asked === asked) this.element.removeAttribute('aria-busy');
    }
  }

  turnOn() {
    this.befores.push(this.after);
    this.after = this.next;
    void this.turn();
  }

  turnBack() {
    this.after = this.befores.pop() ?? '';
    void this.turn();
  }

  async turn() {
    await this.refresh().catch(() => undefined);  // the next look tells what is wrong
    this.element.scrollIntoView({ block: 'start' });
  }

  showHead() {
    const { sort } = this.state;
    const cells = this.form.columns.map((column) => {
      if (column.sort === undefined) return h('th', { scope: 'col', class: column.figure ? 'figure' : undefined }, column.label);
      const isUp = sort === column.sort;
      const isDown = sort === `-${column.sort}`;
      const first = column.first === 'up' ? column.sort : `-${column.sort}`;
      const other = first.startsWith('-') ? column.sort : `-${column.sort}`;
      return h('th', { scope: 'col', class: column.figure ? 'figure' : undefined, 'aria-sort': isUp ? 'ascending' : isDown ? 'descending' : undefined },
        h('button', { type: 'button', class: 'sort', onclick: () => void this.change({ sort: sort === first ? other : first }).catch(() => undefined) },
          column.label, h('span', { 'aria-hidden': 'true', class: 'arrow' }, isUp ? '↑' : isDown ? '↓' : '↕')));
    });
    const focused = [...this.head.querySelectorAll('button')].indexOf(document.activeElement);
    fill(this.head, h('tr', {}, cells));
    this.head.querySelectorAll('button')[focused]?.focus();
  }

  /** @param {any} answer */
  show(answer) {
    const rows = answer[this.form.rows];
    const focused = /** @type {HTMLElement | null} */ (document.activeElement?.closest('tr[data-id]'))?.dataset['id'];
    const isInside = this.body.contains(document.activeElement);
    fill(this.body, rows.map((/** @type {any} */ row) =>
      h('tr', { 'data-id': this.form.id(row) }, this.form.columns.map((column) =>
        h('td', { class: column.figure ? 'figure' : undefined, 'data-label': column.label }, column.cell(row))))));
    if (isInside && focused !== undefined) this.body.querySelector(`tr[data-id="${CSS.escape(focused)}"] a`)?.focus();
    this.next = answer.next ?? '';
    const isFiltered = Object.entries(this.state).some(([name, value]) => name !== 'sort' && value !== '');
    this.summary.textContent = rows.length === 0 ? '' : `${count(rows.length)} of ${count(answer.matched)}${isFiltered ? ' that match' : ''}`;
    this.nothing.hidden = rows.length > 0;
    this.nothing.textContent = isFiltered ? 'Nothing matches.' : this.form.empty;
    this.element.querySelector('table').hidden = rows.length === 0;
    this.showPager();
  }

  showPager() {
    this.back.disabled = this.befores.length === 0;
    this.onward.disabled = this.next === '';
    this.back.parentElement.hidden = this.back.disabled && this.onward.disabled;
  }
}
