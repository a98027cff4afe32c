// Slices of JSON text. Record values are relayed as the text that PostgreSQL produced, so the fold works on slices of that
// text and parses a value only when somebody looks at it; nothing is parsed into a double and printed again.

export function fail(at: number, wanted: string): never {
  throw new SyntaxError(`JSON: ${wanted} expected at ${at}`);
}

/** Also over control characters that JSON does not allow there: whoever parses the whole has them refused. */
export function skipBlanks(text: string, at: number): number {
  while (text.charCodeAt(at) <= 0x20) ++at;
  return at;
}

function endOfString(text: string, at: number): number {
  if (text[at] !== '"') fail(at, '"');
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') ++slashes;
    if (slashes % 2 === 0) return end + 1;
  }
  return fail(at, 'the end');
}

const special = /["[\]{}]/g;
const scalar = /[^,\]}\s]+/y;

/** Index behind the value that starts at `at`. Brackets are only counted: what is inside is checked when it is parsed. */
export function endOfValue(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return endOfString(text, at);
  if (first !== '{' && first !== '[') {
    scalar.lastIndex = at;
    return scalar.test(text) ? scalar.lastIndex : fail(at, 'a value');
  }
  special.lastIndex = at;
  for (let depth = 0; special.test(text); ) {
    const found = text[special.lastIndex - 1];
    if (found === '"') special.lastIndex = endOfString(text, special.lastIndex - 1);
    else if (found === '{' || found === '[') ++depth;
    else if (--depth === 0) return special.lastIndex;
  }
  return fail(at, 'the end');
}

/** Walks over what stands between two brackets, with commas between; `item` takes one and gives the index behind it. */
function walk(text: string, at: number, brackets: '[]' | '{}', item: (at: number) => number): number {
  at = skipBlanks(text, at);
  if (text[at] !== brackets[0]) fail(at, brackets[0] as string);
  at = skipBlanks(text, at + 1);
  if (text[at] === brackets[1]) return at + 1;
  for (;;) {
    at = skipBlanks(text, item(at));
    if (text[at] === brackets[1]) return at + 1;
    if (text[at] !== ',') fail(at, ',');
    at = skipBlanks(text, at + 1);
  }
}

/** Calls `visit` with the span of each element of the array at `at`; returns the index behind the array. */
export function eachElement(text: string, at: number, visit: (start: number, end: number) => void): number {
  return walk(text, at, '[]', (start) => {
    const end = endOfValue(text, start);
    visit(start, end);
    return end;
  });
}

/** Calls `visit` with the name and the span of the value of each member of the object at `at`; returns the index behind it. */
export function eachMember(text: string, at: number, visit: (name: string, start: number, end: number) => void): number {
  return walk(text, at, '{}', (from) => {
    const nameEnd = endOfString(text, from);
    const raw = text.slice(from + 1, nameEnd - 1);
    const name = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
    const colon = skipBlanks(text, nameEnd);
    if (text[colon] !== ':') fail(colon, ':');
    const start = skipBlanks(text, colon + 1);
    const end = endOfValue(text, start);
    visit(name, start, end);
    return end;
  });
}

/** By name: the text of each member's value; there is nothing behind the object. */
export function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>();
  const end = eachMember(text, 0, (name, from, to) => members.set(name, text.slice(from, to)));
  if (skipBlanks(text, end) !== text.length) fail(end, 'the end');
  return members;
}

/** The text without the blanks between its tokens: equal keys get equal text, however they were spaced. */
export function compact(text: string): string {
  return /\s/.test(text) ? text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1') : text;
}

/**
 * The record text with some columns replaced. Only the values are spliced, so the result is, byte for byte, the text that
 * the whole record would have come as.
 */
export function withColumns(record: string, changed: string): string {
  const values = membersOf(changed);
  let out = '';
  let copied = 0;
  eachMember(record, 0, (name, start, end) => {
    const value = values.get(name);
    if (value === undefined) return;
    values.delete(name);
    out += record.slice(copied, start) + value;
    copied = end;
  });
  for (const name of values.keys()) throw new SyntaxError(`no column ${name}`);
  return out + record.slice(copied);
}

/** The names of the members of an object. */
export function columnNames(object: string): string[] {
  return [...membersOf(object).keys()];
}
