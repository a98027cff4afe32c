// Why a record is in a view or not: GET /v1/explain as a form.

import { ask, Refused } from './api.mjs';
import { chip, count, fill, h } from './dom.mjs';

/** @typedef {{space?: string, view?: string, params?: string, claims?: string, record?: string}} Question */

/** What the form holds; kept while the page is open, and in no address, since claims are somebody's. @type {Required<Question>} */
const kept = { space: '', view: '', params: '', claims: '', record: '' };

/** @param {Question} question for the form, the next time it is shown */
export function prefill(question) {
  Object.assign(kept, { record: '' }, question);
}

/** @type {[keyof Question, string, string, boolean][]} */
const fields = [
  ['space', 'Space', 'acme', true],
  ['view', 'View', 'board', true],
  ['record', 'Key of the record, a JSON array', '[7]', true],
  ['params', 'Parameters, a JSON object', '{"team": "red"}', false],
  ['claims', 'Claims of the caller, a JSON object', '{"sub": "ann"}', false],
];

/** @param {any} value of a condition */
function valueChip(value) {
  return chip(value, value === 'true' ? 'good' : value === 'false' ? 'bad' : 'busy');
}

/** @param {any[]} verdicts @returns {Element} */
function tree(verdicts) {
  return h('ul', { class: 'verdicts' }, verdicts.map((each) => {
    const reads = Object.entries(each.reads ?? {}).map(([column, value]) => h('code', { class: 'reads' }, `${column} = ${JSON.stringify(value)}`));
    return h('li', { class: each.decides ? 'decides' : undefined },
      h('div', {}, valueChip(each.value), each.decides ? h('span', { class: 'chip' }, 'decides') : null, each.of === undefined ? null : h('span', { class: 'quiet' }, each.of), h('code', {}, each.condition)),
      each.bound !== undefined && each.pieces === undefined ? h('div', { class: 'quiet' }, 'which is ', h('code', {}, each.bound)) : null,
      each.error === undefined ? null : h('div', { class: 'quiet' }, `error: ${each.error}`),
      reads.length > 0 ? h('div', {}, reads) : null,
      each.pieces === undefined ? null : tree(each.pieces));
  }));
}

/** @param {any} event of the record's history */
function eventItem(event) {
  const who = [event.principal, event.role, event.source].filter((each) => each !== undefined).join(', ');
  const judged = event.judged_by === undefined ? null : h('span', { class: 'quiet' }, 'before this model, judged by it all the same');
  const changed = event.changed === undefined ? null : h('span', { class: 'quiet' }, `changed: ${event.changed.join(', ')}`);
  return h('li', {},
    h('p', { class: 'commit' }, h('strong', {}, count(event.sequence)), chip(event.what), event.at === undefined ? null : h('time', { datetime: event.at }, event.at.replace('T', ' ').slice(0, 19)), h('span', {}, who), changed, judged),
    event.because === undefined ? null : tree(event.because));
}

export class ExplainPane {
  constructor() {
    /** @type {Record<string, any>} */
    this.inputs = {};
    for (const [name, label, example, isNeeded] of fields) {
      this.inputs[name] = h('input', { name, 'aria-label': label, placeholder: example, required: isNeeded, value: kept[name], spellcheck: 'false', autocomplete: 'off', list: name === 'view' ? 'views' : undefined, oninput: () => (kept[name] = this.inputs[name].value) });
    }
    this.views = h('datalist', { id: 'views' });
    this.button = h('button', { type: 'submit', class: 'main' }, 'Explain');
    this.form = h('form', {
      class: 'form',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void this.explain();
      },
    }, fields.map(([name, label]) => h('label', {}, h('span', {}, label), this.inputs[name])), this.views, h('div', { class: 'inline' }, this.button, h('span', { class: 'quiet' }, 'Shows values of columns that the view does not.')));
    this.result = h('div', { class: 'result', 'aria-live': 'polite' });
    this.element = h('section', { class: 'explain' }, this.form, this.result);
    this.isFilled = false;
  }

  /** The names of the views that somebody has open; any other can be typed in. */
  async refresh() {
    if (this.isFilled) return;
    const { views } = await ask('inspect/views');
    this.isFilled = true;
    fill(this.views, [...new Set(views.map((/** @type {any} */ each) => each.view))].map((each) => h('option', { value: each })));
  }

  async explain() {
    this.button.disabled = true;
    fill(this.result, h('p', { class: 'quiet' }, 'Asking the database.'));
    try {
      this.show(await ask('explain', { ...kept }));
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      fill(this.result, h('p', { class: 'trouble' }, error instanceof Refused && error.code !== 'unknown' ? `${error.code}: ${message}` : message));
    } finally {
      this.button.disabled = false;
    }
  }

  /** @param {any} answer */
  show(answer) {
    const state = answer.inside && answer.admitted ? 'good' : 'bad';
    const sentence = `${answer.inside ? 'Inside' : 'Outside'} ${answer.view}`;
    const details = [answer.exists ? '' : 'The space has no such record now.', answer.admitted ? 'Such a caller is admitted.' : 'Such a caller is not admitted.'].filter((each) => each !== '').join(' ');
    const { history } = answer;
    fill(this.result,
      h('div', { class: 'banner', 'data-state': state }, h('p', { class: 'large' }, sentence), h('p', {}, `Record ${JSON.stringify(answer.record)} of ${answer.collection} at commit ${count(answer.sequence)}. ${details}`)),
      h('section', { class: 'card' }, h('h2', {}, 'Conditions'), answer.conditions.length > 0 ? tree(answer.conditions) : h('p', { class: 'nothing' }, 'There is no record to judge.')),
      h('section', { class: 'card' }, h('h2', {}, 'Policies of the view, one of which must be true'), answer.policies.length > 0 ? tree(answer.policies) : h('p', { class: 'nothing' }, 'None: nobody is admitted.')),
      h('section', { class: 'card' }, h('h2', {}, 'History'), h('p', { class: 'quiet' }, `The log reaches back to commit ${count(history.retained_from)}; before that it was ${history.began}.`, history.left_out > 0 ? ` ${count(history.left_out)} older events are left out.` : ''),
        this.events(history)));
  }

  /** The newest first; older ones are asked for where they are wanted. @param {any} history */
  events(history) {
    const list = h('ol', { class: 'commits' }, [...history.events].reverse().map(eventItem));
    if (history.next_before === undefined) return list;
    let { next_before: before } = history;
    const asked = { ...kept };
    const fault = h('p', { class: 'trouble', role: 'alert', hidden: true });
    const older = h('button', {
      type: 'button',
      onclick: async () => {
        older.disabled = true;
        try {
          const more = await ask('explain', { ...asked, before });
          list.append(...[...more.history.events].reverse().map(eventItem));
          before = more.history.next_before;
          older.hidden = before === undefined;
          fault.hidden = true;
        } catch (error) {
          fault.textContent = /** @type {Error} */ (error).message;
          fault.hidden = false;
        }
        older.disabled = false;
      },
    }, 'Older events');
    return h('div', {}, list, fault, older);
  }
}
