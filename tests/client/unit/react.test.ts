// @vitest-environment happy-dom
// Goal: a component shows what its view shows, renders again when its records changed and only then, and leaves nothing behind, in
// StrictMode too. Method: React with a DOM in memory, a client against a gateway in memory.

import { optimistic, connect, writer, type Client, type SocketConstructor, type Writer } from '@viewgate/client';
import { useItems, useMutation, useRecord, useStatus, useView, Viewgate } from '@viewgate/react';
import { Component, createElement, memo, startTransition, StrictMode, Suspense, useMemo, useState, version, type ReactElement } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { eventually, FakeServer } from '../support/fake_server.js';
import { query, type Account } from '../support/model_gateway.js';

let server: FakeServer;
let client: Client;
let write: Writer;
let root: Root;
let url: string;
let container: HTMLElement;

beforeEach(async () => {
  server = new FakeServer(13);
  for (let i = 0; i < 10; ++i) server.ledger.write(server.random, '1');
  url = await server.listen();
  client = connect({ url, token: () => 'token', WebSocket: WebSocket as unknown as SocketConstructor });
  write = writer(client);
  container = document.createElement('div');
  document.body.append(container);
  root = createRoot(container);
});

afterEach(async () => {
  root.unmount();
  client.close();
  await server.close();
});

function show(element: ReactElement): void {
  root.render(createElement(StrictMode, null, createElement(Viewgate, { client }, element)));
}

function expected(): string {
  const states = server.ledger.states('1');
  const rows = [...query(states[states.length - 1] ?? new Map<number, Account>(), 'above', { low: -5 }).values()];
  return rows
    .map((text) => JSON.parse(text) as Account)
    .sort((a, b) => a.id - b.id)
    .map(({ id, a }) => `${id}:${a}`)
    .join(' ');
}

const byId = (a: Account, b: Account): number => a.id - b.id;

describe('the hooks', () => {
  it('are_looked_at_with_the_react_that_was_asked_for', () => {
    expect(version.split('.')[0]).toBe(process.env['VIEWGATE_REACT'] === undefined ? '18' : '19');
  });

  it('a_list_follows_its_view_and_a_row_renders_again_only_when_its_record_changed', async () => {
    const rendered = new Map<number, Set<string>>();
    let renders = 0;
    const Row = memo(({ account }: { account: Account }) => {
      renders++;
      const seen = rendered.get(account.id) ?? new Set();
      rendered.set(account.id, seen.add(JSON.stringify(account)));
      return createElement('i', null, `${account.id}:${account.a} `);
    });
    const List = (): ReactElement => {
      const { items } = useView<Account>('above', { space: '1', params: { low: -5 }, by: byId });
      return createElement('p', null, items.map((item) => createElement(Row, { key: item.key, account: item.record })));
    };
    show(createElement(List));
    await eventually('the list is the query', () => container.textContent?.trim() === expected());
    const before = renders;
    server.ledger.states('1').push(new Map([...(server.ledger.states('1').at(-1) ?? []), [99, { id: 99, a: 7, b: 'x' }]]));
    await eventually('the new one is there', () => container.textContent?.includes('99:7') === true);
    expect(container.textContent?.trim()).toBe(expected());
    // StrictMode renders twice.
    expect(renders - before).toBeLessThanOrEqual(2);
  });

  it('two_components_share_a_subscription_and_the_last_one_ends_it', async () => {
    const Size = (): ReactElement => {
      const { items, isReady } = useView<Account>('above', { space: '1', params: { low: -5 } });
      return createElement('b', null, isReady ? `${items.length} ` : 'loading ');
    };
    const Both = (): ReactElement => createElement('p', null, createElement(Size), createElement(Size));
    show(createElement(Both));
    await eventually('both are there', () => /^(\d+) \1 $/.test(container.textContent ?? ''));
    expect(server.received.filter((message) => message['type'] === 'subscribe').length).toBe(1);
    show(createElement('p', null, 'nothing'));
    await eventually('it was ended', () => server.received.some((message) => message['type'] === 'unsubscribe'));
  });

  it('suspense_waits_for_the_set_and_not_longer', async () => {
    const States = (): ReactElement => {
      const { items, isReady } = useView<Account>('above', { space: '1', params: { low: -5 }, by: byId, suspense: true });
      expect(isReady).toBe(true);
      return createElement('p', null, items.map((item) => `${item.record.id}:${item.record.a}`).join(' '));
    };
    show(createElement(Suspense, { fallback: 'waiting' }, createElement(States)));
    await eventually('it waits', () => container.textContent === 'waiting');
    await eventually('it is there', () => container.textContent === expected());
  });

  it('suspense_waits_for_a_set_that_takes_longer_than_an_unused_view_lives', async () => {
    let signIn: (token: string) => void = () => undefined;
    const token = new Promise<string>((resolve) => (signIn = resolve));
    client.close();
    client = connect({ url, token: () => token, WebSocket: WebSocket as unknown as SocketConstructor });
    let subscribed = 0;
    const { subscribe } = client;
    client.subscribe = ((...args: Parameters<typeof subscribe>) => {
      subscribed++;
      return subscribe.apply(client, args);
    }) as typeof subscribe;
    const States = (): ReactElement => {
      const { items } = useView<Account>('above', { space: '1', params: { low: -5 }, by: byId, suspense: true });
      return createElement('p', null, items.map((item) => `${item.record.id}:${item.record.a}`).join(' '));
    };
    const turns = async (): Promise<void> => {
      for (let i = 0; i < 20; ++i) await new Promise(setImmediate);
    };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      show(createElement(Suspense, { fallback: 'waiting' }, createElement(States)));
      await turns();
      expect(container.textContent).toBe('waiting');
      for (let second = 0; second < 12; ++second) {
        vi.advanceTimersByTime(1_000);
        await turns();
      }
    } finally {
      vi.useRealTimers();
    }
    expect(subscribed).toBe(1);
    signIn('token');
    await eventually('it is there', () => container.textContent === expected());
  });

  it('other_parameters_and_another_order_are_another_list', async () => {
    let choose: (low: number) => void = () => undefined;
    const List = (): ReactElement => {
      const [low, setLow] = useState(-5);
      choose = setLow;
      const sign = low < 0 ? 1 : -1;
      const { items } = useView<Account>('above', { space: '1', params: { low }, by: (a, b) => sign * (a.a - b.a) }, [sign]);
      return createElement('p', null, items.map((item) => item.record.a).join(' '));
    };
    show(createElement(List));
    await eventually('it is there', () => (container.textContent ?? '') !== '');
    const numbers = (): number[] => (container.textContent ?? '').split(' ').map(Number);
    expect(numbers()).toEqual([...numbers()].sort((a, b) => a - b));
    server.ledger.states('1').push(new Map([1, 2, 3].map((id) => [id, { id, a: id, b: 'x' }])));
    choose(0);
    await eventually('the other is there', () => container.textContent === '3 2 1');
  });

  it('a_list_that_a_transition_is_about_to_replace_stays_whole_and_in_its_order', async () => {
    server.ledger.states('1').push(new Map(Array.from({ length: 40 }, (_, id) => [id, { id, a: id, b: String((id * 17) % 40).padStart(2, '0') }])));
    const never = new Promise(() => undefined);
    let rendered = '';
    let choose: (order: 'a' | 'b') => void = () => undefined;
    const List = ({ order }: { order: 'a' | 'b' }): ReactElement => {
      rendered = order;
      const { items } = useView<Account>('above', { space: '1', params: { low: 0 }, by: (x, y) => (x[order] < y[order] ? -1 : 1) }, [order]);
      return createElement('p', null, items.map((item) => item.record.id).join(' '));
    };
    const Wait = ({ isOn }: { isOn: boolean }): null => {
      if (isOn) throw never;
      return null;
    };
    const App = (): ReactElement => {
      const [order, setOrder] = useState<'a' | 'b'>('a');
      choose = setOrder;
      return createElement(Suspense, { fallback: 'waiting' }, createElement(List, { order }), createElement(Wait, { isOn: order === 'b' }));
    };
    show(createElement(App));
    const ids = Array.from({ length: 40 }, (_, id) => id);
    await eventually('it is there', () => container.textContent === ids.join(' '));
    startTransition(() => choose('b'));
    await eventually('the transition renders', () => rendered === 'b');
    const states = server.ledger.states('1');
    states.push(new Map(states[states.length - 1]).set(30, { id: 30, a: 100, b: '99' }));
    await eventually('the record is the last one', () => container.textContent?.endsWith(' 30') ?? false);
    expect(container.textContent).toBe([...ids.filter((id) => id !== 30), 30].join(' '));
  });

  it('a_record_and_a_mutation', async () => {
    let seen = 0;
    const One = (): ReactElement => {
      const { view } = useView<Account>('above', { space: '1', params: { low: -5 } });
      const accounts = useMemo(() => optimistic<Account>(write, view, { collection: 'accounts', key: ['id'] }), [view]);
      const record = useRecord(accounts, [77]);
      const count = useItems(accounts).length;
      const put = useMutation((a: number) => accounts.put({ id: 77, a, b: 'x' }));
      const bad = useMutation(() => accounts.create({ id: 77, a: 0, b: 'x' }));
      seen++;
      const text = `${useStatus()} ${record?.a ?? 'none'} ${put.pending} ${bad.error?.reason ?? ''} ${count > 0}`;
      return createElement('p', { onClick: () => void put.run(5), onDoubleClick: () => void bad.run() }, text);
    };
    show(createElement(One));
    await eventually('it is online', () => container.textContent?.startsWith('online none 0') === true);
    const element = (): HTMLElement => container.querySelector('p') as HTMLElement;
    element().dispatchEvent(new MouseEvent('click', { bubbles: true }));
    await eventually('it shows at once', () => container.textContent?.includes(' 5 ') === true);
    await eventually('it is done', () => container.textContent?.trim() === 'online 5 0  true');
    element().dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
    await eventually('the reason is there', () => container.textContent?.trim() === 'online 5 0 already_exists true');
    expect(seen).toBeGreaterThan(3);
  });

  it('a_view_that_is_refused_later_says_so_and_a_client_that_is_started_again_has_no_error_left', async () => {
    const Size = (): ReactElement => {
      const { items, isReady, status, error } = useView<Account>('above', { space: '1', params: { low: -5 } });
      return createElement('b', null, `${status} ${isReady} ${items.length > 0} ${error === undefined ? 'none' : `${error.code}: ${error.message}`}`);
    };
    show(createElement(Size));
    await eventually('it is live', () => container.textContent === 'live true true none');
    server.say('{"type":"unsubscribed","id":"s1","reason":"forbidden"}');
    await eventually('it is refused', () => container.textContent === 'denied false false forbidden: not allowed any more');
    server.end(1009);
    await eventually('the connection is refused, too', () => client.status === 'denied');
    show(createElement('p'));
    client.close();
    client = connect({ url, token: () => 'token', WebSocket: WebSocket as unknown as SocketConstructor });
    show(createElement(Size));
    await eventually('another one is live', () => container.textContent === 'live true true none');
    server.end(1009);
    await eventually('the set stays', () => container.textContent === 'denied true true denied: the view above is denied');
    client.retry();
    await eventually('it is live again', () => container.textContent === 'live true true none');
  });

  it('where_a_set_was_hidden_nothing_is_ready_before_there_is_another_one', async () => {
    const seen = new Set<string>();
    const Size = (): ReactElement => {
      const { items, isReady, status } = useView<Account>('above', { space: '1', params: { low: -5 } });
      seen.add(`${status} ${isReady} ${items.length > 0}`);
      return createElement('b', null, `${status} ${isReady} ${items.length > 0}`);
    };
    show(createElement(Size));
    await eventually('it is live', () => container.textContent === 'live true true');
    server.end(4005);
    await eventually('it is refused', () => container.textContent === 'denied false false');
    client.retry();
    await eventually('it is live again', () => container.textContent === 'live true true');
    server.principal = 'bob';
    server.cut();
    await eventually('it is bob’s', () => client.principal === 'bob' && container.textContent === 'live true true');
    expect(seen).toContain('bootstrapping false false');
    expect([...seen].filter((each) => each.endsWith('true false'))).toEqual([]);
  });

  it('with_suspense_a_view_that_is_refused_later_goes_to_the_error_boundary', async () => {
    class Boundary extends Component<{ children: ReactElement }> {
      override state = { error: '' };
      static getDerivedStateFromError(error: Error): object {
        return { error: error.message };
      }
      override render(): ReactElement {
        return this.state.error === '' ? this.props.children : createElement('p', null, this.state.error);
      }
    }
    const States = (): ReactElement => {
      const { isReady } = useView<Account>('above', { space: '1', params: { low: -5 }, suspense: true });
      return createElement('p', null, `ready ${isReady}`);
    };
    const tell = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    show(createElement(Boundary, null, createElement(Suspense, { fallback: 'waiting' }, createElement(States))));
    await eventually('it is there', () => container.textContent === 'ready true');
    server.say('{"type":"unsubscribed","id":"s1","reason":"forbidden"}');
    await eventually('it is refused', () => container.textContent === 'not allowed any more');
    tell.mockRestore();
  });

  it('without_a_client_above_the_hooks_say_so', async () => {
    const thrown: unknown[] = [];
    const Alone = (): ReactElement => {
      try {
        useView('above', { space: '1' });
      } catch (error) {
        thrown.push(error);
      }
      return createElement('p');
    };
    root.render(createElement(Alone));
    await eventually('it was thrown', () => thrown.length > 0);
    expect(String(thrown[0])).toContain('<Viewgate client={…}>');
  });
});
