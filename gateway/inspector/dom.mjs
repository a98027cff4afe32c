// Elements, and how figures are written.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `on…`: a listener; true: there; false and undefined: not there
 * @param {...(Child | Child[])} children
 * @returns {any} the element
 */
export function h(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) out.addEventListener(name.slice(2), value);
    else out.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) out.append(typeof child === 'number' ? count(child) : child);
  }
  return out;
}

/**
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((each) => each !== null && each !== undefined && each !== false).map((each) => (typeof each === 'number' ? count(each) : /** @type {Node | string} */ (each))));
}

/** @param {number | string} value a whole number, also as text, of any size */
export function count(value) {
  const text = String(value);
  return /^-?\d{5,}$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, '\u202f') : text;
}

/** @param {number} value */
export function bytes(value) {
  if (value < 1024) return `${value} B`;
  let rest = value;
  let unit = '';
  for (unit of ['KiB', 'MiB', 'GiB', 'TiB']) {
    rest /= 1024;
    if (rest < 1000) break;
  }
  return `${rest < 10 ? rest.toFixed(1) : Math.round(rest)} ${unit}`;
}

/** @param {number} milliseconds */
export function time(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} many
 */
export function of(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** @param {string} text @param {string} [state] */
export function chip(text, state) {
  return h('span', { class: 'chip', 'data-state': state }, text);
}

/** The JSON text of a record's key as people say it: what is one thing stands without its array. @param {unknown} key */
export function keyText(key) {
  return Array.isArray(key) && key.length === 1 ? String(key[0]) : JSON.stringify(key);
}
