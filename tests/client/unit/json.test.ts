// Goal: nothing that PostgreSQL wrote is changed on its way to the application. Method: texts that other readers damage.

import { describe, expect, it } from 'vitest';
import { compact, withColumns } from '../../../client/src/json.js';
import { parseLossless, stringify } from '../../../client/src/numbers.js';
import { Random, seeds } from '../support/random.js';

describe('slices of JSON text', () => {
  it('a_changed_column_is_spliced_and_every_other_byte_stays', () => {
    const before = '{"id": 7, "n": 1.10, "t": "a\\"b, {x", "j": {"k": [1, 2]}, "z": null}';
    expect(withColumns(before, '{"n": 2.50, "z": "€"}')).toBe(
      '{"id": 7, "n": 2.50, "t": "a\\"b, {x", "j": {"k": [1, 2]}, "z": "€"}',
    );
    expect(withColumns('{"a":"\\\\","b":1}', '{"b":2}')).toBe('{"a":"\\\\","b":2}');
  });

  it('a_changed_column_that_the_record_lacks_is_refused', () => {
    expect(() => withColumns('{"a": 1}', '{"b": 2}')).toThrow('b');
  });

  it('keys_are_equal_however_they_are_spaced', () => {
    expect(compact('[1, "a b", {"x": 2}]')).toBe('[1,"a b",{"x":2}]');
    expect(compact('["\\" , "]')).toBe('["\\" , "]');
  });

  it('case_31_a_64_bit_integer_stays_exact', () => {
    expect(parseLossless('{"n": 9007199254740993}')).toEqual({ n: 9007199254740993n });
    expect(parseLossless('[-9223372036854775808, 1161380288898609914]')).toEqual([
      -9223372036854775808n,
      1161380288898609914n,
    ]);
    expect(JSON.parse('{"n": 9007199254740993}')).toEqual({ n: 9007199254740992 });
    expect(stringify({ n: 9007199254740993n, list: [1n, 'x', null] })).toBe('{"n":9007199254740993,"list":[1,"x",null]}');
  });

  it('what_is_written_is_what_the_built_in_writer_writes_and_bigints_besides', () => {
    const odd = [, 1, () => 1, Symbol('x'), undefined, new String('s'), new Date(0), { toJSON: () => ({ n: 1n }) }];
    const value = { odd, '#1': '#2', '##': -3n, f: (): void => undefined, u: undefined };
    expect(stringify(value)).toBe('{"odd":[null,1,null,null,null,"s","1970-01-01T00:00:00.000Z",{"n":1}],"#1":"#2","##":-3}');
    expect([stringify(7n), stringify('7'), stringify(undefined)]).toEqual(['7', '"7"', 'null']);
    expect(stringify(['#'.repeat(200_000), 7n])).toBe(`["${'#'.repeat(200_000)}",7]`);
  });

  it('a_bigint_is_its_digits_also_where_a_page_has_given_bigints_a_toJSON', () => {
    Object.defineProperty(BigInt.prototype, 'toJSON', { value: String, configurable: true });
    try {
      expect(stringify({ n: 7n, list: [8n] })).toBe('{"n":7,"list":[8]}');
      expect(stringify(9n)).toBe('9');
    } finally {
      delete (BigInt.prototype as { toJSON?: unknown }).toJSON;
    }
  });

  it('a_decimal_that_a_double_would_change_stays_text', () => {
    expect(parseLossless('[1.5, 1.10, 1e400, 0.1, 12345678901234567890.10]')).toEqual([
      1.5,
      '1.10',
      '1e400',
      0.1,
      '12345678901234567890.10',
    ]);
  });

  it('case_35_a_column_called_proto_is_a_column', () => {
    const value = parseLossless('{"__proto__": 1, "A b": 2}') as object;
    expect(Object.entries(value)).toEqual([['__proto__', 1], ['A b', 2]]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('lossless_equals_the_built_in_parser_where_that_loses_nothing', () => {
    for (const seed of seeds(300)) {
      const value = anything(new Random(seed), 4);
      const text = JSON.stringify(value, null, seed % 3);
      expect(parseLossless(text), `seed ${seed}`).toEqual(value);
    }
  });

  it('broken_text_is_an_error_and_no_value', () => {
    for (const text of ['', '{', '{"a"}', '{"a":}', '[1', '[1 2]', '"x', '{"a":1}}', 'nul', '[01]', '{"a":1,}']) {
      expect(() => parseLossless(text), text).toThrow(SyntaxError);
    }
  });
});

function anything(random: Random, depth: number): unknown {
  const kind = random.below(depth > 0 ? 7 : 5);
  if (kind === 0) return random.below(2_000_000) - 1_000_000;
  if (kind === 1) return random.pick(['', 'a"b\\c', '\u2028\n\t', '😀', '{[,:]}']);
  if (kind === 2) return random.chance(50);
  if (kind === 3) return null;
  if (kind === 4) return random.below(1000) / 8;
  const many = Array.from({ length: random.below(4) }, () => anything(random, depth - 1));
  return kind === 5 ? many : Object.fromEntries(many.map((value, i) => [`k"${i}`, value]));
}
