// Slices of JSON text. Record values are relayed as the text that PostgreSQL produced, so the fold works on slices of that
// text and parses a value only when somebody looks at it; nothing is parsed into a double and printed again.

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function fail(text: string, at: number, wanted: string): never {
  throw new SyntaxError(`JSON: ${wanted} expected at ${at}, found ${JSON.stringify(text.slice(at, at + 12))}`);
}

export function skipBlanks(text: string, at: number): number {
  while (isBlank(text.charCodeAt(at))) ++at;
  return at;
}

function endOfString(text: string, at: number): number {
  if (text.charCodeAt(at) !== quote) fail(text, at, 'a string');
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) ++slashes;
    if (slashes % 2 === 0) return end + 1;
  }
  return fail(text, at, 'the end of a string');
}

/** Index behind the value that starts at `at`. Brackets are only counted: what is inside is checked when it is parsed. */
export function endOfValue(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === quote) return endOfString(text, at);
  if (first === openBrace || first === openBracket) {
    let depth = 0;
    for (let i = at; i < text.length; ) {
      const code = text.charCodeAt(i);
      if (code === quote) {
        i = endOfString(text, i);
        continue;
      }
      if (code === openBrace || code === openBracket) ++depth;
      if ((code === closeBrace || code === closeBracket) && --depth === 0) return i + 1;
      ++i;
    }
    return fail(text, at, 'the end of a bracket');
  }
  let end = at;
  for (; end < text.length; ++end) {
    const code = text.charCodeAt(end);
    if (code === comma || code === closeBrace || code === closeBracket || isBlank(code)) break;
  }
  return end === at ? fail(text, at, 'a value') : end;
}

/** Calls `visit` with the span of each element of the array at `at`; returns the index behind the array. */
export function eachElement(text: string, at: number, visit: (start: number, end: number) => void): number {
  at = skipBlanks(text, at);
  if (text.charCodeAt(at) !== openBracket) fail(text, at, 'an array');
  at = skipBlanks(text, at + 1);
  if (text.charCodeAt(at) === closeBracket) return at + 1;
  for (;;) {
    const end = endOfValue(text, at);
    visit(at, end);
    at = skipBlanks(text, end);
    const code = text.charCodeAt(at);
    if (code === closeBracket) return at + 1;
    if (code !== comma) fail(text, at, 'a comma');
    at = skipBlanks(text, at + 1);
  }
}

/** Calls `visit` with the name and the span of the value of each member of the object at `at`; returns the index behind it. */
export function eachMember(text: string, at: number, visit: (name: string, start: number, end: number) => void): number {
  at = skipBlanks(text, at);
  if (text.charCodeAt(at) !== openBrace) fail(text, at, 'an object');
  at = skipBlanks(text, at + 1);
  if (text.charCodeAt(at) === closeBrace) return at + 1;
  for (;;) {
    const nameEnd = endOfString(text, at);
    const raw = text.slice(at + 1, nameEnd - 1);
    const name = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
    at = skipBlanks(text, nameEnd);
    if (text.charCodeAt(at) !== colon) fail(text, at, 'a colon');
    at = skipBlanks(text, at + 1);
    const end = endOfValue(text, at);
    visit(name, at, end);
    at = skipBlanks(text, end);
    const code = text.charCodeAt(at);
    if (code === closeBrace) return at + 1;
    if (code !== comma) fail(text, at, 'a comma');
    at = skipBlanks(text, at + 1);
  }
}

/** The text without the blanks between its tokens: equal keys get equal text, however they were spaced. */
export function compact(text: string): string {
  if (!/[ \n\r\t]/.test(text)) return text;
  let out = '';
  for (let i = 0; i < text.length; ) {
    if (text.charCodeAt(i) === quote) {
      const end = endOfString(text, i);
      out += text.slice(i, end);
      i = end;
    } else {
      if (!isBlank(text.charCodeAt(i))) out += text[i];
      ++i;
    }
  }
  return out;
}

/**
 * The record text with some columns replaced. Only the values are spliced, so the result is, byte for byte, the text that
 * the whole record would have come as.
 */
export function withColumns(record: string, changed: string): string {
  const values = new Map<string, string>();
  eachMember(changed, 0, (name, start, end) => values.set(name, changed.slice(start, end)));
  let out = '';
  let copied = 0;
  eachMember(record, 0, (name, start, end) => {
    const value = values.get(name);
    if (value === undefined) return;
    values.delete(name);
    out += record.slice(copied, start) + value;
    copied = end;
  });
  for (const name of values.keys()) throw new SyntaxError(`a changed column is not in the record: ${name}`);
  return out + record.slice(copied);
}

/** The names of the members of an object. */
export function columnNames(object: string): string[] {
  const names: string[] = [];
  eachMember(object, 0, (name) => names.push(name));
  return names;
}

/** What JSON.parse would give, except that no number loses a digit: see parseNumber. */
export function parseLossless(text: string): unknown {
  const at = skipBlanks(text, 0);
  const end = endOfValue(text, at);
  if (skipBlanks(text, end) !== text.length) fail(text, end, 'the end');
  return losslessValue(text, at, end);
}

function losslessValue(text: string, at: number, end: number): unknown {
  const first = text.charCodeAt(at);
  if (first === openBracket) {
    const out: unknown[] = [];
    eachElement(text, at, (from, to) => out.push(losslessValue(text, from, to)));
    return out;
  }
  if (first === openBrace) {
    const out: Record<string, unknown> = {};
    eachMember(text, at, (name, from, to) => {
      const value = losslessValue(text, from, to);
      // A column may be called __proto__, which an assignment would take for the prototype.
      Object.defineProperty(out, name, { value, writable: true, enumerable: true, configurable: true });
    });
    return out;
  }
  const slice = text.slice(at, end);
  return first === 0x2d || (first >= 0x30 && first <= 0x39) ? parseNumber(slice) : (JSON.parse(slice) as unknown);
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

/** JSON text of a value that may hold bigints. */
export function stringify(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map((item) => stringify(item === undefined ? null : item)).join(',')}]`;
  if (typeof value === 'object' && value !== null && !('toJSON' in value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}
