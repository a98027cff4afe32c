// Goal: the client stays connected, comes back when it may and only then, and asks for one token at a time. Method: the state
// machine with a clock in the test's hand.

import { describe, expect, it } from 'vitest';
import { closeName, isFinal, isSoon } from '../../../client/src/codes.js';
import { connectionTable, type ConnectionEvent, type Phase } from '../../../client/src/connection_table.js';
import { Recorder } from '../support/recorder.js';
import { specified } from '../support/specification.js';

const welcome = {
  type: 'welcome',
  principal: 'alice',
  expires_in: 300,
  heartbeat: 20,
  message_bytes: 65536,
  subscriptions: 128,
};
const events: ConnectionEvent[] = [
  { type: 'start' },
  { type: 'stop' },
  { type: 'token', token: 't' },
  { type: 'token_failed', message: 'm' },
  { type: 'opened' },
  { type: 'message', text: JSON.stringify(welcome) },
  { type: 'closed', code: 1006 },
  { type: 'woken' },
  { type: 'patience' },
  { type: 'silence' },
  { type: 'reconnect' },
  { type: 'refresh' },
];

const table = specified('Connection');

function inPhase(phase: Phase): Recorder {
  const recorder = new Recorder();
  if (phase === 'idle') return recorder;
  recorder.step({ type: 'start' });
  if (phase === 'authorizing') return recorder;
  recorder.step({ type: 'token', token: 't' });
  if (phase === 'opening') return recorder;
  if (phase === 'greeting') return recorder.step({ type: 'opened' });
  recorder.online();
  if (phase === 'waiting') recorder.step({ type: 'closed', code: 1006 });
  if (phase === 'denied') recorder.step({ type: 'closed', code: 4005 });
  if (phase === 'closed') recorder.step({ type: 'stop' });
  return recorder;
}

describe('the connection', () => {
  for (const phase of Object.keys(connectionTable) as Phase[]) {
    it(`every_event_in_${phase}_does_what_the_table_says`, () => {
      expect(Object.keys(table[phase] ?? {})).toEqual(events.map((event) => event.type));
      for (const event of events) {
        const recorder = inPhase(phase);
        expect(recorder.machine.phase).toBe(phase);
        recorder.step(event);
        expect(recorder.machine.phase, event.type).toBe(table[phase]?.[event.type]);
      }
    });
  }

  it('hello_is_the_first_message_and_pong_answers_ping', () => {
    const recorder = new Recorder().online();
    expect(recorder.sent('hello')).toEqual([{ type: 'hello', protocol: 1, token: 'token' }]);
    recorder.message({ type: 'ping' });
    expect(recorder.sent('pong').length).toBe(1);
  });

  const codes = [1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 4000, 4001, 4003, 4004, 4005, 4008, 4010, 4029];
  for (const code of codes) {
    const retry = isFinal(code) ? 'never' : isSoon(code) ? 'soon' : 'later';
    it(`close_${code}_${closeName(code)}_is_followed_by_${retry}`, () => {
      const recorder = new Recorder().online().step({ type: 'closed', code });
      if (retry === 'never') {
        expect(recorder.machine.phase).toBe('denied');
        expect(recorder.timers.size).toBe(0);
        expect(recorder.errors()).toEqual(['denied']);
        recorder.step({ type: 'woken' });
        expect(recorder.machine.phase).toBe('denied');
        return;
      }
      const { low, high } = recorder.delay('reconnect');
      if (retry === 'later') expect(low).toBeGreaterThanOrEqual(500);
      else expect(high).toBeLessThanOrEqual(500);
      expect(high).toBeGreaterThan(low);
      expect(recorder.back().machine.phase).toBe('online');
      expect(recorder.count('get_token')).toBe(2);
    });
  }

  it('breaks_in_a_row_wait_longer_each_time_and_settle_after_ten_seconds_online', () => {
    const recorder = new Recorder().online();
    const highs: number[] = [];
    for (let i = 0; i < 8; ++i) {
      recorder.step({ type: 'closed', code: 1006 });
      highs.push(recorder.delay('reconnect').high);
      recorder.back();
    }
    expect(highs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    recorder.now += 10_000;
    recorder.step({ type: 'closed', code: 1006 });
    expect(recorder.delay('reconnect').high).toBe(1_000);
  });

  it('ten_seconds_online_end_the_row_whatever_ends_the_connection_after_them', () => {
    const ends: ((recorder: Recorder) => unknown)[] = [
      (recorder) => recorder.step({ type: 'woken' }),
      (recorder) => recorder.message({ type: 'at' }),
      (recorder) => recorder.step({ type: 'stop' }).step({ type: 'start' }).step({ type: 'token', token: 't' }).step({ type: 'opened' }),
    ];
    for (const end of ends) {
      const recorder = new Recorder().online();
      for (let i = 0; i < 6; ++i) recorder.step({ type: 'closed', code: 1006 }).back();
      recorder.now += 60_000;
      end(recorder);
      if (recorder.machine.phase === 'waiting') recorder.ring('reconnect').step({ type: 'token', token: 't' }).step({ type: 'opened' });
      recorder.step({ type: 'closed', code: 1006 });
      // The first or the second break in the row, and not the seventh.
      expect(recorder.delay('reconnect').high).toBeLessThanOrEqual(2_000);
    }
  });

  it('case_27_drain_says_when_to_return_and_nothing_hastens_it', () => {
    const recorder = new Recorder().online();
    recorder.message({ type: 'drain', reconnect_after: 7_340 }).step({ type: 'closed', code: 1012 });
    expect(recorder.delay('reconnect')).toEqual({ low: 7_340, high: 7_340 });
    recorder.step({ type: 'woken' });
    expect(recorder.delay('reconnect')).toEqual({ low: 7_340, high: 7_340 });
    expect(recorder.back().machine.phase).toBe('online');
  });

  it('case_19_a_version_that_the_server_does_not_speak_is_never_retried', () => {
    const recorder = new Recorder().online().step({ type: 'closed', code: 4010 });
    recorder.now += 1e9;
    recorder.step({ type: 'woken' }).step({ type: 'reconnect' });
    expect(recorder.machine.phase).toBe('denied');
    expect(recorder.count('open')).toBe(1);
  });

  it('case_26_two_heartbeats_of_silence_are_a_dead_link', () => {
    const recorder = new Recorder().online('alice', 20);
    expect(recorder.delay('silence').high).toBe(40_000);
    recorder.now += 15_000;
    recorder.message({ type: 'ping' });
    recorder.ring('silence');
    expect(recorder.machine.phase).toBe('online');
    expect(recorder.delay('silence').high).toBe(15_000);
    recorder.ring('silence');
    expect(recorder.machine.phase).toBe('waiting');
    expect(recorder.count('drop')).toBe(1);
    expect(recorder.delay('reconnect').high).toBeLessThanOrEqual(500);
  });

  it('case_26_a_machine_that_slept_makes_one_new_connection_when_it_wakes', () => {
    const recorder = new Recorder().online().live(1, []);
    recorder.now += 300_000;
    recorder.step({ type: 'woken' }).step({ type: 'woken' }).step({ type: 'silence' });
    expect(recorder.machine.phase).toBe('waiting');
    recorder.back();
    expect(recorder.count('open')).toBe(2);
    expect(recorder.sent('subscribe').at(-1)).toMatchObject({ cursor: 'ctx1.p5' });
  });

  it('waking_hastens_a_retry_once', () => {
    const recorder = new Recorder().online();
    for (let i = 0; i < 5; ++i) recorder.step({ type: 'closed', code: 1006 }).back();
    recorder.step({ type: 'closed', code: 1006 });
    recorder.step({ type: 'woken' });
    expect(recorder.delay('reconnect').high).toBe(500);
  });

  it('a_clock_that_is_set_back_does_no_harm', () => {
    const recorder = new Recorder().online();
    recorder.now -= 3_600_000;
    recorder.message({ type: 'ping' });
    recorder.now += 39_000;
    recorder.step({ type: 'silence' });
    expect(recorder.machine.phase).toBe('online');
  });

  it('case_22_a_token_is_refreshed_when_the_server_says_so_whatever_the_clock_shows', () => {
    const recorder = new Recorder();
    recorder.now = 1e12;
    recorder.online();
    recorder.now += 270_000;
    recorder.message({ type: 'notice', kind: 'auth_expiring', in: 30 }).message({ type: 'notice', kind: 'auth_expiring', in: 20 });
    expect(recorder.count('get_token')).toBe(2);
    recorder.step({ type: 'token', token: 'fresh' });
    expect(recorder.sent('refresh')).toEqual([{ type: 'refresh', token: 'fresh' }]);
    expect(recorder.count('open')).toBe(1);
  });

  it('case_21_a_refresh_that_fails_is_tried_again_and_expiry_reconnects_with_a_new_token', () => {
    const recorder = new Recorder().online();
    recorder.now += 270_000;
    recorder.message({ type: 'notice', kind: 'auth_expiring', in: 30 });
    recorder.step({ type: 'token_failed', message: 'no network' });
    recorder.ring('refresh').step({ type: 'token_failed', message: 'no network' });
    expect(recorder.machine.phase).toBe('online');
    expect(recorder.delay('refresh').high).toBe(2_000);
    recorder.step({ type: 'closed', code: 4004 });
    expect(recorder.timers.has('refresh')).toBe(false);
    expect(recorder.delay('reconnect').high).toBeLessThanOrEqual(500);
    recorder.back();
    expect(recorder.machine.phase).toBe('online');
  });

  it('case_21_tokens_that_are_refused_again_and_again_go_into_back_off', () => {
    const recorder = new Recorder().online();
    const delays: number[] = [];
    for (let i = 0; i < 4; ++i) {
      recorder.step({ type: 'closed', code: 4001 });
      delays.push(recorder.delay('reconnect').high);
      recorder.ring('reconnect').step({ type: 'token', token: 'bad' }).step({ type: 'opened' });
    }
    expect(delays).toEqual([500, 2_000, 4_000, 8_000]);
  });

  it('a_token_that_is_refused_is_told_once_for_a_row_of_refusals', () => {
    const recorder = new Recorder().step({ type: 'start' }).step({ type: 'token', token: 'bad' }).step({ type: 'opened' });
    const refuse = (): void => {
      recorder.step({ type: 'closed', code: 4001 });
      recorder.ring('reconnect').step({ type: 'token', token: 'bad' }).step({ type: 'opened' });
    };
    for (let i = 0; i < 4; ++i) refuse();
    expect(recorder.errors()).toEqual(['auth_required']);
    recorder.message(welcome);
    expect(recorder.machine.phase).toBe('online');
    // One that has ended is not refused: a fresh one is asked for.
    recorder.step({ type: 'closed', code: 4004 }).back();
    for (let i = 0; i < 2; ++i) refuse();
    expect(recorder.errors()).toEqual(['auth_required', 'auth_required']);
  });

  it('a_token_that_is_refused_is_told_again_to_whoever_has_asked_again', () => {
    const recorder = new Recorder().step({ type: 'start' }).step({ type: 'token', token: 'bad' }).step({ type: 'opened' });
    recorder.step({ type: 'closed', code: 4001 });
    const attempt = (): Recorder => recorder.step({ type: 'token', token: 'bad' }).step({ type: 'opened' }).step({ type: 'closed', code: 4001 });
    recorder.ring('reconnect');
    attempt();
    expect(recorder.errors()).toEqual(['auth_required']);
    recorder.step({ type: 'start' });
    attempt();
    expect(recorder.errors()).toEqual(['auth_required', 'auth_required']);
    // Also where the attempt was under way.
    recorder.ring('reconnect').step({ type: 'start' });
    attempt();
    expect(recorder.errors()).toHaveLength(3);
    recorder.ring('reconnect');
    attempt();
    expect(recorder.errors()).toHaveLength(3);
  });

  it('case_22_tokens_shorter_than_the_warning_are_refreshed_at_half_their_life_and_not_in_a_loop', () => {
    const recorder = new Recorder().online();
    for (let i = 0; i < 3; ++i) {
      recorder.message({ type: 'notice', kind: 'auth_expiring', in: 20 });
      expect(recorder.count('get_token')).toBe(1 + i);
      expect(recorder.delay('refresh')).toEqual({ low: 10_000, high: 10_000 });
      recorder.ring('refresh').step({ type: 'token', token: 'fresh' });
    }
    expect(recorder.sent('refresh').length).toBe(3);
  });

  it('one_call_of_the_token_provider_at_a_time', () => {
    const recorder = new Recorder().online();
    recorder.now += 270_000;
    recorder.message({ type: 'notice', kind: 'auth_expiring', in: 30 });
    recorder.step({ type: 'closed', code: 1006 }).ring('reconnect');
    expect(recorder.machine.phase).toBe('authorizing');
    expect(recorder.count('get_token')).toBe(2);
    recorder.step({ type: 'token', token: 'late' }).step({ type: 'opened' });
    expect(recorder.sent('hello').at(-1)).toMatchObject({ token: 'late' });
  });

  it('a_provider_or_a_socket_that_never_answers_is_given_up_and_tried_again', () => {
    const recorder = new Recorder().step({ type: 'start' });
    recorder.ring('patience');
    expect(recorder.machine.phase).toBe('waiting');
    recorder.ring('reconnect').step({ type: 'token', token: 't' }).ring('patience');
    expect(recorder.machine.phase).toBe('waiting');
    recorder.back();
    expect(recorder.machine.phase).toBe('online');
  });

  it('a_document_that_the_protocol_does_not_have_ends_the_connection_and_not_the_client', () => {
    const recorder = new Recorder().online().live(1, [{ key: [1], record: { a: 1 } }]);
    recorder.step({ type: 'message', text: '{"type":"commit","channel":"c1"' });
    expect(recorder.errors()).toEqual(['protocol']);
    expect(recorder.machine.phase).toBe('waiting');
    recorder.back();
    expect(recorder.sent('subscribe').at(-1)).toMatchObject({ cursor: 'ctx1.p5' });
    expect(recorder.shown(1)).toEqual({ '[1]': '{"a":1}' });
  });

  it('case_20_who_is_revoked_is_shown_nothing_any_more_and_nothing_stays_stored', () => {
    const recorder = new Recorder().online().live(1, [{ key: [1], record: { a: 1 } }]);
    recorder.step({ type: 'closed', code: 4005 });
    expect(recorder.machine.phase).toBe('denied');
    expect(recorder.shown(1)).toEqual({});
    expect(recorder.count('forget')).toBe(1);
  });

  it('case_25_a_commit_of_megabytes_in_one_message_is_one_commit', () => {
    const recorder = new Recorder().online().live(1);
    const text = 'é"\\\n'.repeat(400_000);
    const events = [{ kind: 'entered', key: [1], record: { id: 1, text } }, { kind: 'entered', key: [2], record: { id: 2, text: '' } }];
    recorder.message({ type: 'commit', channel: 'c1', sequence: '6', position: 'p6', events });
    expect(JSON.parse(recorder.shown(1)['[1]'] ?? '')).toEqual({ id: 1, text });
    expect(Object.keys(recorder.shown(1)).length).toBe(2);
  });

  it('another_principal_sees_nothing_of_the_one_before', () => {
    const recorder = new Recorder().online('alice').live(1, [{ key: [1], record: { a: 1 } }]);
    recorder.step({ type: 'closed', code: 1006 }).ring('reconnect');
    recorder.step({ type: 'token', token: 'bob' }).online('bob');
    expect(recorder.shown(1)).toEqual({});
    expect(recorder.sent('subscribe').at(-1)).not.toHaveProperty('cursor');
  });
});
