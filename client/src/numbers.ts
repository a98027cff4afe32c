// Parsers for records that keep every digit; given to `connect` or `subscribe` as the option `parse`. Whoever does not use them does
// not carry them.

import { eachElement, eachMember, endOfValue, fail, skipBlanks } from './json.js';

/** What JSON.parse would give, except that no number loses a digit: see parseNumber. */
export function parseLossless(text: string): unknown {
  const at = skipBlanks(text, 0);
  const end = endOfValue(text, at);
  if (skipBlanks(text, end) !== text.length) fail(end, 'the end');
  return losslessValue(text, at, end);
}

function losslessValue(text: string, at: number, end: number): unknown {
  const first = text[at] ?? '';
  if (first === '[') {
    const out: unknown[] = [];
    eachElement(text, at, (from, to) => out.push(losslessValue(text, from, to)));
    return out;
  }
  if (first === '{') {
    const out: Record<string, unknown> = {};
    eachMember(text, at, (name, from, to) => {
      put(out, name, losslessValue(text, from, to));
    });
    return out;
  }
  const slice = text.slice(at, end);
  return /[-\d]/.test(first) ? parseNumber(slice) : (JSON.parse(slice) as unknown);
}

/**
 * A number where a double holds exactly what is written; else an integer is a bigint and anything with a fraction or an
 * exponent (1.10, 1e400) is its text.
 */
function parseNumber(slice: string): number | bigint | string {
  const value = JSON.parse(slice) as number;
  if (/^-?\d+$/.test(slice)) return Number.isSafeInteger(value) ? value : BigInt(slice);
  return String(value) === slice ? value : slice;
}

/** Turns the JSON text of one column's value, which is not null, into what the application wants to see. */
export type Column = (text: string) => unknown;

/** int8: a bigint, whatever its size. */
export const bigint: Column = (text) => BigInt(text);

/** numeric: its digits as PostgreSQL wrote them, `1.10` and `1e400` too; NaN and the infinities come as text anyway. */
export const digits: Column = (text) => (text.startsWith('"') ? (JSON.parse(text) as string) : text);

/** float4, float8: a number, NaN and the infinities too, which come as text. */
export const float: Column = (text) => Number(JSON.parse(text));

/** timestamptz, timestamp, date: a Date. Infinity and what lies beyond the years of a Date gives an invalid one. */
export const date: Column = (text) => new Date(JSON.parse(text) as string);

/**
 * A parser by the types of columns: `columns({ id: bigint, price: digits, due: date })`, or `price: (text) => new Decimal(text)`.
 * Columns that are not named are parsed as by `parseLossless`; null stays null.
 */
export function columns(types: { readonly [column: string]: Column }): (text: string) => unknown {
  const byName = new Map(Object.entries(types));
  return (text) => {
    const out: Record<string, unknown> = {};
    eachMember(text, 0, (name, from, to) => {
      const column = byName.get(name);
      const slice = text.slice(from, to);
      put(out, name, column === undefined ? losslessValue(text, from, to) : slice === 'null' ? null : column(slice));
    });
    return out;
  };
}

/** A column may be called __proto__, which an assignment would take for the prototype. */
function put(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

/** As JSON.stringify, except that a bigint is its digits. */
export function stringify(value: unknown): string {
  let hasBigints = false;
  const markedBy = (mark: string): string => {
    // Of the holder: a page may have given bigints a toJSON, which is asked before us.
    const marked = function (this: Record<string, unknown>, name: string, each: unknown): unknown {
      const own = this[name];
      if (typeof own !== 'bigint') return each;
      hasBigints = true;
      return mark + String(own);
    };
    return JSON.stringify(value, marked) ?? 'null';
  };
  const text = markedBy('');
  if (!hasBigints) return text;
  // A mark that nothing in it has.
  let mark;
  do mark = `#${Math.random().toString(36).slice(2)}#`;
  while (text.includes(mark));
  return markedBy(mark).replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}
