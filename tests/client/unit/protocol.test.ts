// Goal: this client and the gateway mean the same protocol. Method: the golden files that the gateway writes and reads, and the
// tables of gateway/protocol.hpp.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { closeName, isFinal, isSoon } from '../../../client/src/codes.js';
import { decodeDocument, encode, type ClientMessage } from '../../../client/src/protocol.js';
import { decodeWriting, type Mutate } from '../../../client/src/protocol_write.js';

const golden = new URL('../../golden/protocol/', import.meta.url);
const header = readFileSync(new URL('../../../gateway/protocol.hpp', import.meta.url), 'utf8');
const files = readdirSync(golden).sort();

function text(file: string): string {
  return readFileSync(new URL(file, golden), 'utf8').trim();
}

/** Lists of which other tests speak, and what this client has no use for. */
const notRead = ['records', 'events', 'receipts', 'expires_in', 'subscriptions'];

describe('the protocol', () => {
  for (const file of files.filter((name) => name.startsWith('server_'))) {
    it(`reads_${file.replace('.json', '')}_with_every_member_that_it_uses`, () => {
      const document = decodeDocument(text(file)) ?? decodeWriting(text(file));
      const plain = JSON.parse(text(file)) as Record<string, unknown>;
      expect(document).toBeDefined();
      for (const [name, value] of Object.entries(plain)) {
        if (notRead.includes(name)) continue;
        expect(document?.[name as never], name).toEqual(value);
      }
    });
  }

  for (const file of files.filter((name) => name.startsWith('client_'))) {
    it(`writes_${file.replace('.json', '')}_as_the_gateway_reads_it`, () => {
      expect(encode(JSON.parse(text(file)) as ClientMessage | Mutate)).toBe(text(file));
    });
  }

  it('every_client_message_and_server_document_has_a_golden_file', () => {
    const onSockets = files.filter((file) => !file.startsWith('http_'));
    const types = new Set(onSockets.map((file) => (JSON.parse(text(file)) as { type: string }).type));
    const known = 'hello subscribe unsubscribe refresh mutate receipts pong welcome notice subscribed snapshot ready commit progress at';
    expect([...types].sort()).toEqual([...known.split(' '), ...'reset_required unsubscribed error ping drain'.split(' ')].sort());
  });

  it('records_and_events_keep_their_text', () => {
    const snapshot = decodeDocument(text('server_snapshot.json'));
    expect(snapshot).toMatchObject({ records: [{ key: '[3]' }, { key: '[13]' }] });
    const records = snapshot?.type === 'snapshot' ? snapshot.records : [];
    expect(records[1]?.record).toBe('{"aid": 13, "note": null, "abalance": 12345678901234567890.10}');
    expect(decodeDocument(text('server_commit.json'))).toMatchObject({
      last: true,
      events: [
        { kind: 'entered', key: '[23]', record: '{"aid": 23, "note": "new", "abalance": -1.10}' },
        { kind: 'updated', key: '[3]', changed: '{"abalance": -9}' },
        { kind: 'removed_from_scope', key: '[13]' },
        { kind: 'deleted', key: '[33]' },
      ],
    });
    expect(decodeDocument(text('server_commit_part.json'))).toMatchObject({ last: false });
  });

  it('receipts_keep_their_text', () => {
    const rejected = decodeWriting(text('server_receipts_rejected.json'));
    const receipt = rejected?.type === 'receipts' ? rejected.receipts[0] : undefined;
    expect(receipt).toMatchObject({ client: 'tab-5f1c', number: '4', sequence: '43', outcome: 'rejected', reason: 'conflict' });
    expect(receipt?.groups).toEqual({ schedule: '42' });
    expect(text('server_receipts_rejected.json')).toContain(receipt?.text);
  });

  it('close_codes_and_what_to_do_are_those_of_the_gateway', () => {
    const rows = [...header.matchAll(/\{(\d{4}),\s*"(\w+)",\s*Retry::(\w+),\s*"/g)].map(([, code, name, retry]) => ({
      code: Number(code),
      name,
      retry,
    }));
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.map(({ code }) => closeName(code))).toEqual(rows.map(({ name }) => name));
    expect(rows.filter(({ code }) => isFinal(code))).toEqual(rows.filter(({ retry }) => retry === 'never'));
    expect(rows.filter(({ code }) => isSoon(code))).toEqual(rows.filter(({ retry }) => retry === 'at_once' || retry === 'after_refresh'));
    expect([1006, 4999].some((code) => isFinal(code) || isSoon(code))).toBe(false);
    expect([1006, 4999].map(closeName)).toEqual(['connection_lost', 'closed']);
  });

  it('what_it_does_not_know_is_passed_over', () => {
    const message = '{"type":"weather","sky":"blue"}\n{"type":"ping","since":{"a":[1]}}\n';
    expect(message.trim().split('\n').map(decodeDocument)).toEqual([undefined, { type: 'ping' }]);
  });

  it('what_it_must_understand_is_refused_by_name', () => {
    const refused = (document: string): string => {
      try {
        decodeDocument(document);
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
        return (error as Error).message;
      }
      throw new Error(`accepted: ${document}`);
    };
    expect(refused('{"type":"at","space":"1"}')).toContain('sequence');
    expect(refused('{"type":"at","space":"1","sequence":7}')).toContain('sequence');
    expect(refused('{"type":"at","space":"1","sequence":"07"}')).toContain('sequence');
    expect(refused('{"type":"commit","channel":"c","sequence":"1","events":[]}')).toContain('position');
    const odd = '{"type":"commit","channel":"c","sequence":"1","position":"p","events":[{"kind":"merged","key":[1]}]}';
    expect(refused(odd)).toContain('merged');
    for (const broken of ['', 'x', '{"type":"ping"', '{"type":"ping"}{}', '[]', '{"type":5}', '{}']) refused(broken || ' ');
  });
});
