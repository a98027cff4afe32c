// Goal: every answer of the server leads to a set that is the view, or to a named error; never to a set that is a little wrong.
// Method: the state machine and documents written by hand.

import { describe, expect, it } from 'vitest';
import { subscriptionTable } from '../../../client/src/subscriptions.js';
import { Recorder } from '../support/recorder.js';
import { specified } from '../support/specification.js';

const one = { key: [1], record: { id: 1, a: 1 } };
const two = { key: [2], record: { id: 2, a: 2 } };

function entered(id: number): object {
  return { kind: 'entered', key: [id], record: { id, a: id } };
}

function commit(channel: string, sequence: number, events: object[], more: object = {}): object {
  return { type: 'commit', channel, sequence: String(sequence), position: `p${sequence}`, events, ...more };
}

describe('a subscription', () => {
  it('the_table_is_the_one_of_the_specification', () => {
    const table = specified('Subscriptions');
    const moves = Object.entries(table).map(([phase, row]) => [phase, Object.fromEntries(Object.entries(row).filter(([, next]) => next !== phase))]);
    // `again` in `asked` stays and asks once more.
    expect(subscriptionTable).toMatchObject(Object.fromEntries(moves));
    expect(Object.keys(subscriptionTable)).toEqual(Object.keys(table));
    for (const [phase, row] of Object.entries(subscriptionTable)) {
      for (const [event, next] of Object.entries(row)) expect(table[phase]?.[event], `${phase} ${event}`).toBe(next);
    }
  });

  it('a_snapshot_is_shown_at_ready_and_not_before', () => {
    const recorder = new Recorder().online();
    recorder.subscribe(1);
    recorder.message({ type: 'subscribed', id: recorder.wire(1), channel: 'c', context: 'x', resumed: false });
    recorder.message({ type: 'snapshot', channel: 'c', records: [one] });
    recorder.message({ type: 'snapshot', channel: 'c', records: [two] });
    expect(recorder.shown(1)).toEqual({});
    recorder.message({ type: 'ready', channel: 'c', sequence: '9', position: 'p9', head: '9' });
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]', '[2]']);
  });

  it('case_23_a_commit_in_parts_is_applied_whole_at_its_last_part', () => {
    const recorder = new Recorder().online().live(1);
    recorder.message(commit('c1', 6, [entered(1)], { last: false, position: undefined }));
    recorder.message(commit('c1', 6, [entered(2)], { last: false, position: undefined }));
    expect(recorder.shown(1)).toEqual({});
    recorder.message(commit('c1', 6, [entered(3)]));
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]', '[2]', '[3]']);
  });

  it('a_change_tells_when_its_commit_was_made_and_what_a_back_end_signed_it_with', () => {
    const recorder = new Recorder().online().live(1);
    recorder.message(commit('c1', 6, [entered(1)], { last: false, position: undefined }));
    recorder.message(commit('c1', 6, [entered(2)], { at: '2024-02-29T12:00:00.000001Z', request_id: 'checkout-4711' }));
    const changes = recorder.actions.flatMap((action) => (action.type === 'shown' ? action.shown.map(({ change }) => change) : []));
    expect(changes.at(-1)).toMatchObject({ at: '2024-02-29T12:00:00.000001Z', requestId: 'checkout-4711', sequence: '6' });
    expect(changes[0]?.at).toBe(undefined);
  });

  it('a_break_inside_a_commit_resumes_before_it', () => {
    const recorder = new Recorder().online().live(1);
    recorder.message(commit('c1', 6, [entered(1)], { last: false, position: undefined }));
    recorder.step({ type: 'closed', code: 1006 }).back();
    expect(recorder.sent('subscribe').at(-1)).toMatchObject({ cursor: 'ctx1.p5' });
    recorder.message(
      { type: 'subscribed', id: recorder.wire(1), channel: 'c1', context: 'ctx1', resumed: true },
      { type: 'ready', channel: 'c1', sequence: '5', position: 'p5', head: '6' },
      commit('c1', 6, [entered(1), entered(2)]),
    );
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]', '[2]']);
    expect(recorder.errors()).toEqual([]);
  });

  it('a_stored_set_is_shown_before_there_is_a_connection_and_its_cursor_is_the_one_to_go_on_from', () => {
    const recorder = new Recorder().subscribe(1, '1', true);
    recorder.restored(1, { context: 'ctx1', position: 'p5', sequence: '5', records: [['[1]', '{"id":1,"a":1}']] });
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
    recorder.online();
    expect(recorder.sent('subscribe').at(-1)).toMatchObject({ cursor: 'ctx1.p5' });
    recorder.message(
      { type: 'subscribed', id: recorder.wire(1), channel: 'c1', context: 'ctx1', resumed: true },
      { type: 'ready', channel: 'c1', sequence: '5', position: 'p5', head: '6' },
      commit('c1', 6, [entered(2)]),
    );
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]', '[2]']);
  });

  it('what_is_still_being_read_of_one_principal_is_neither_shown_nor_asked_with_for_another_or_after_a_revocation', () => {
    const stored = { context: 'ctx1', position: 'p5', sequence: '5', records: [['[1]', '{"id":1,"a":1}']] as const };
    const other = new Recorder();
    other.machine.principal = 'ada';
    other.subscribe(1, '1', true).online('bob');
    expect(other.sent('subscribe')).toMatchObject([{ id: 's1' }]);
    other.restored(1, stored);
    expect(other.shown(1)).toEqual({});
    expect(other.sent('subscribe').map((message) => 'cursor' in message)).toEqual([false]);
    const revoked = new Recorder().online().subscribe(1, '1', true).step({ type: 'closed', code: 4005 }).restored(1, stored);
    expect([revoked.shown(1), revoked.subscription(1).phase]).toEqual([{}, 'waiting']);
    revoked.step({ type: 'start' }).online();
    expect(revoked.sent('subscribe').map((message) => 'cursor' in message)).toEqual([false]);
  });

  it('nothing_is_asked_until_the_storage_has_answered', () => {
    const recorder = new Recorder().online().subscribe(1, '1', true);
    expect(recorder.sent('subscribe').length).toBe(0);
    recorder.restored(1);
    expect(recorder.sent('subscribe').length).toBe(1);
    expect(recorder.sent('subscribe').at(-1)).not.toHaveProperty('cursor');
    recorder.restored(1, { context: 'x', position: 'p9', sequence: '9', records: [] });
    expect(recorder.subscription(1).phase).toBe('asked');
  });

  it('progress_moves_the_cursor_and_changes_nothing', () => {
    const recorder = new Recorder().online().live(1, [one]);
    recorder.message({ type: 'progress', channel: 'c1', sequence: '900', position: 'p900' });
    recorder.step({ type: 'closed', code: 1006 }).back();
    expect(recorder.sent('subscribe').at(-1)).toMatchObject({ cursor: 'ctx1.p900' });
  });

  it('two_views_of_a_space_move_together_at_at', () => {
    const recorder = new Recorder().online().live(1, [one]).live(2);
    recorder.message(commit('c1', 6, [{ kind: 'removed_from_scope', key: [1] }]));
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
    const before = recorder.count('shown');
    recorder.message(commit('c2', 6, [entered(1)]), commit('c1', 7, [entered(7)]), { type: 'at', space: '1', sequence: '6' });
    expect([recorder.shown(1), Object.keys(recorder.shown(2))]).toEqual([{}, ['[1]']]);
    expect(recorder.count('shown')).toBe(before + 1);
    recorder.message({ type: 'at', space: '1', sequence: '7' });
    expect(Object.keys(recorder.shown(1))).toEqual(['[7]']);
  });

  it('views_of_different_spaces_do_not_wait_for_each_other', () => {
    const recorder = new Recorder().online().live(1, [], '1').live(2, [], '2');
    recorder.message(commit('c1', 6, [entered(1)]));
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
  });

  it('what_waits_for_at_is_shown_when_the_other_view_closes', () => {
    const recorder = new Recorder().online().live(1).live(2);
    recorder.message(commit('c1', 6, [entered(1)]));
    expect(recorder.shown(1)).toEqual({});
    recorder.step({ type: 'unsubscribe', number: 2 });
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
  });

  it('after_a_break_nobody_runs_ahead_of_a_view_that_is_still_coming_back', () => {
    const recorder = new Recorder().online().live(1).live(2);
    recorder.message({ type: 'at', space: '1', sequence: '5' });
    recorder.step({ type: 'closed', code: 1006 }).back();
    const resumed = (number: number): object[] => [
      { type: 'subscribed', id: recorder.wire(number), channel: `c${number}`, context: `ctx${number}`, resumed: true },
      { type: 'ready', channel: `c${number}`, sequence: '5', position: 'p5', head: '6' },
    ];
    recorder.message(...resumed(1), commit('c1', 6, [entered(1)]));
    expect(recorder.shown(1)).toEqual({});
    recorder.message(...resumed(2), { type: 'at', space: '1', sequence: '5' });
    expect(recorder.shown(1)).toEqual({});
    recorder.message(commit('c2', 6, [entered(1)]), { type: 'at', space: '1', sequence: '6' });
    expect([Object.keys(recorder.shown(1)), Object.keys(recorder.shown(2))]).toEqual([['[1]'], ['[1]']]);
  });

  it('a_view_that_does_not_come_back_holds_nobody', () => {
    const recorder = new Recorder().online().live(1).live(2);
    recorder.step({ type: 'closed', code: 1006 }).back();
    recorder.message(
      { type: 'subscribed', id: recorder.wire(1), channel: 'c1', context: 'ctx1', resumed: true },
      { type: 'ready', channel: 'c1', sequence: '5', position: 'p5', head: '6' },
      commit('c1', 6, [entered(1)]),
    );
    expect(recorder.shown(1)).toEqual({});
    recorder.message({ type: 'error', id: recorder.wire(2), code: 'unavailable', message: 'm', retry_after: 5_000 });
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
  });

  it('case_15_a_reset_replaces_the_set_and_what_was_deleted_meanwhile_is_gone', () => {
    const recorder = new Recorder().online().live(1, [one, two]);
    recorder.step({ type: 'closed', code: 1006 }).back();
    const id = recorder.wire(1);
    recorder.message(
      { type: 'reset_required', id, reason: 'history_pruned' },
      { type: 'subscribed', id, channel: 'c9', context: 'ctx9', resumed: false },
      { type: 'snapshot', channel: 'c9', records: [two] },
    );
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]', '[2]']);
    recorder.message({ type: 'ready', channel: 'c9', sequence: '50', position: 'p50', head: '50' });
    expect(Object.keys(recorder.shown(1))).toEqual(['[2]']);
    const last = recorder.actions.filter((action) => action.type === 'shown').at(-1);
    expect(last).toMatchObject({ shown: [{ change: { kind: 'replaced', left: [{ key: '[1]' }], entered: [], updated: [] } }] });
  });

  it('other_claims_hide_the_set_at_once', () => {
    const recorder = new Recorder().online().live(1, [one]);
    recorder.message({ type: 'reset_required', id: recorder.wire(1), reason: 'authorization_changed' });
    expect(recorder.shown(1)).toEqual({});
  });

  it('a_view_that_becomes_forbidden_hides_its_set_and_ends', () => {
    const recorder = new Recorder().online().live(1, [one]);
    recorder.message({ type: 'unsubscribed', id: recorder.wire(1), reason: 'forbidden' });
    expect(recorder.shown(1)).toEqual({});
    expect(recorder.subscription(1).phase).toBe('failed');
    expect(recorder.errors()).toEqual(['forbidden']);
    recorder.step({ type: 'closed', code: 1006 }).back();
    expect(recorder.sent('subscribe').length).toBe(1);
  });

  it('a_cursor_that_is_refused_is_dropped_and_the_view_read_anew', () => {
    const recorder = new Recorder().online().live(1, [one]);
    recorder.step({ type: 'closed', code: 1006 }).back();
    recorder.message({ type: 'error', id: recorder.wire(1), code: 'cursor_invalid', message: 'm' });
    expect(recorder.sent('subscribe').at(-1)).not.toHaveProperty('cursor');
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
  });

  it('retry_after_is_waited_for_and_the_cursor_kept', () => {
    const recorder = new Recorder().online().live(1, [one]);
    recorder.message({ type: 'error', id: recorder.wire(1), code: 'unavailable', message: 'm', retry_after: 2_000 });
    expect(recorder.delay(1)).toEqual({ low: 2_000, high: 3_000 });
    recorder.ring(1);
    expect(recorder.sent('subscribe').at(-1)).toMatchObject({ cursor: 'ctx1.p5' });
  });

  it('an_error_that_the_server_logged_says_under_which_id', () => {
    const recorder = new Recorder().online().subscribe(1);
    const id = recorder.wire(1);
    recorder.message({ type: 'error', id, code: 'unavailable', message: 'm', retry_after: 2_000, connection: 'abc' });
    expect(recorder.subscription(1).error?.connection).toBe('abc');
  });

  it('an_error_without_retry_after_is_final', () => {
    for (const code of ['invalid_view', 'invalid_value', 'forbidden', 'bad_request', 'too_many_subscriptions']) {
      const recorder = new Recorder().online();
      recorder.subscribe(1);
      recorder.message({ type: 'error', id: recorder.wire(1), code, message: 'why' });
      expect(recorder.subscription(1)).toMatchObject({ phase: 'failed', error: { code, message: 'why' } });
      expect(recorder.subscription(1).error?.connection).toBeUndefined();
    }
  });

  it('a_commit_that_does_not_fit_is_not_applied_and_the_view_is_read_anew', () => {
    for (const events of [
      [entered(9), entered(1)],
      [entered(9), { kind: 'deleted', key: [5] }],
      [entered(9), { kind: 'updated', key: [5], changed: { a: 3 } }],
      [entered(9), { kind: 'updated', key: [1], changed: { unknown: 3 } }],
      [entered(9), entered(9)],
    ]) {
      const recorder = new Recorder().online().live(1, [one]);
      recorder.message(commit('c1', 6, events));
      expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
      expect(recorder.errors()).toEqual(['misfit']);
      expect(recorder.sent('unsubscribe').length).toBe(1);
      expect(recorder.sent('subscribe').at(-1)).not.toHaveProperty('cursor');
    }
  });

  it('a_commit_that_comes_twice_or_out_of_order_is_not_applied', () => {
    const recorder = new Recorder().online().live(1);
    recorder.message(commit('c1', 7, [entered(1)])).message(commit('c1', 7, [entered(2)]));
    expect(Object.keys(recorder.shown(1))).toEqual(['[1]']);
    expect(recorder.errors()).toEqual(['misfit']);
  });

  it('same_as_shares_the_set_and_outlives_the_first', () => {
    const recorder = new Recorder().online().live(1, [one]);
    recorder.subscribe(2);
    const first = recorder.wire(1);
    recorder.message({ type: 'subscribed', id: recorder.wire(2), channel: 'c1', context: 'ctx1', resumed: false, same_as: first });
    expect(recorder.subscription(2).phase).toBe('live');
    recorder.message(commit('c1', 6, [entered(2)]));
    expect(recorder.shown(2)).toEqual(recorder.shown(1));
    recorder.step({ type: 'unsubscribe', number: 1 });
    recorder.message({ type: 'unsubscribed', id: first, reason: 'requested' }, commit('c1', 7, [entered(3)]));
    expect(Object.keys(recorder.shown(2))).toEqual(['[1]', '[2]', '[3]']);
  });

  it('same_as_a_channel_that_was_closed_meanwhile_asks_again', () => {
    const recorder = new Recorder().online().live(1, [one]);
    const first = recorder.wire(1);
    recorder.subscribe(2);
    const second = recorder.wire(2);
    recorder.step({ type: 'unsubscribe', number: 1 });
    recorder.message({ type: 'subscribed', id: second, channel: 'c1', context: 'ctx1', resumed: false, same_as: first });
    expect(recorder.sent('unsubscribe').map((message) => 'id' in message && message.id)).toEqual([first, second]);
    expect(recorder.subscription(2).phase).toBe('asked');
    expect(recorder.wire(2)).not.toBe(second);
  });

  it('case_37_after_five_reconnects_each_commit_comes_once_per_view_and_closing_one_closes_one', () => {
    const recorder = new Recorder().online().live(1, [], '1').live(2, [], '2');
    for (let i = 0; i < 5; ++i) {
      recorder.step({ type: 'closed', code: 1006 }).back();
      for (const number of [1, 2]) {
        const channel = `c${number}`;
        recorder.message(
          { type: 'subscribed', id: recorder.wire(number), channel, context: `ctx${number}`, resumed: true },
          { type: 'ready', channel, sequence: '5', position: 'p5', head: '5' },
        );
      }
    }
    const before = recorder.count('shown');
    recorder.message(commit('c1', 6, [entered(1)])).message(commit('c2', 6, [entered(1)]));
    expect(recorder.count('shown')).toBe(before + 2);
    const wires = new Set(recorder.sent('subscribe').map((message) => 'id' in message && message.id));
    expect(wires.size).toBe(12);
    recorder.step({ type: 'unsubscribe', number: 1 }).message(commit('c1', 7, [entered(2)]), commit('c2', 7, [entered(2)]));
    expect(Object.keys(recorder.shown(2))).toEqual(['[1]', '[2]']);
    expect(recorder.sent('unsubscribe').length).toBe(1);
  });

  it('case_18_resets_in_a_row_back_off_and_surface_one_error', () => {
    const recorder = new Recorder().online();
    recorder.subscribe(1);
    const delays: number[] = [];
    for (let i = 0; i < 10; ++i) {
      const id = recorder.wire(1);
      recorder.message({ type: 'subscribed', id, channel: 'c1', context: 'x', resumed: false });
      recorder.message({ type: 'ready', channel: 'c1', sequence: '5', position: 'p5', head: '5' });
      recorder.message({ type: 'reset_required', id, reason: 'state_unavailable' });
      if (!recorder.timers.has(1)) continue;
      delays.push(recorder.delay(1).high);
      recorder.ring(1);
    }
    expect(delays).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(recorder.errors()).toEqual(['reset_loop']);
    expect(recorder.machine.phase).toBe('online');
  });

  it('documents_of_channels_that_are_over_are_passed_over', () => {
    const recorder = new Recorder().online().live(1, [one]);
    recorder.step({ type: 'unsubscribe', number: 1 });
    recorder.message(commit('c1', 6, [entered(2)]), { type: 'progress', channel: 'c1', sequence: '7', position: 'p7' });
    expect(recorder.errors()).toEqual([]);
  });

  it('a_record_that_did_not_change_stays_the_same_object_through_a_replacement', () => {
    const recorder = new Recorder().online().live(1, [one, two]);
    const before = recorder.subscription(1).shown?.set.items.get('[1]');
    recorder.step({ type: 'closed', code: 1006 }).back();
    const id = recorder.wire(1);
    recorder.message(
      { type: 'reset_required', id, reason: 'view_changed' },
      { type: 'subscribed', id, channel: 'c9', context: 'ctx9', resumed: false },
      { type: 'snapshot', channel: 'c9', records: [one] },
      { type: 'ready', channel: 'c9', sequence: '9', position: 'p9', head: '9' },
    );
    expect(recorder.subscription(1).shown?.set.items.get('[1]')).toBe(before);
  });
});
