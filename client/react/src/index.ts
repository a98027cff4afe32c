// @viewgate/react: live views as hooks. A component renders again when what it looks at changed, and not otherwise; what it sees is one
// commit, in concurrent rendering too, because the lists are values that never change.

import {
  createContext,
  createElement,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactElement,
  type ReactNode,
} from 'react';
import {
  ordered,
  type AnyModel,
  type Client,
  type Collection,
  type Item,
  type Key,
  type MutationRejected,
  type Ordered,
  type OrderOptions,
  type Params,
  type ParamsOf,
  type Receipt,
  type RecordOf,
  type View,
  type ViewNames,
  type ViewStatus,
} from '@viewgate/client';
import { Leases, type ViewError } from './leases.js';

export type { ViewError } from './leases.js';

interface Provided {
  readonly client: Client;
  readonly leases: Leases;
}

const context = createContext<Provided | undefined>(undefined);

/** Gives a client to the hooks below it. The client belongs to whoever made it: it is not closed here. */
export function Viewgate({ client, children }: { client: Client; children?: ReactNode }): ReactElement {
  const provided = useMemo(() => ({ client, leases: new Leases(client) }), [client]);
  return createElement(context.Provider, { value: provided }, children);
}

function useProvided(): Provided {
  const provided = useContext(context);
  if (provided === undefined) throw new Error('useView and useClient need a <Viewgate client={…}> above them');
  return provided;
}

export function useClient(): Client {
  return useProvided().client;
}

/** The hooks that know the names of views, for a model that `viewgate types` has written: `const { useView } = hooks<Model>()`. */
export interface Hooks<M extends AnyModel> {
  useClient(): Client<M>;
  useView<V extends ViewNames<M>>(
    name: V,
    options: Omit<UseViewOptions<RecordOf<M, V>>, 'params'> & Params<ParamsOf<M, V>>,
    deps?: readonly unknown[],
  ): ViewResult<RecordOf<M, V>>;
}

export function hooks<M extends AnyModel>(): Hooks<M> {
  return { useClient, useView } as Hooks<M>;
}

export interface UseViewOptions<T> extends OrderOptions<T> {
  readonly space: string;
  readonly params?: object;
  /** Suspend until there is a set to see, instead of rendering without one. A view that is refused is thrown to the error boundary. */
  readonly suspense?: boolean;
}

export interface ViewResult<T> {
  readonly view: View<T>;
  /** In order; the same array until a commit changed it, with the same items for the records that did not change. */
  readonly items: readonly Item<T>[];
  readonly status: ViewStatus;
  /** There is a set to see. */
  readonly isReady: boolean;
  /** Why it is `denied` or `failed`, also where that came later; `code` is for programs. */
  readonly error: ViewError | undefined;
}

/**
 * A live view. Equal calls share one subscription, which lives as long as a component uses it. `by` and `where` may be written in place:
 * those of the first rendering count, and the list is made anew, with the ones of now, where `deps` changed.
 */
export function useView<T = Record<string, unknown>>(name: string, options: UseViewOptions<T>, deps: readonly unknown[] = []): ViewResult<T> {
  const { leases } = useProvided();
  const { space, params, suspense = false } = options;
  const lease = leases.of<T>(name, space, params);
  useEffect(() => lease.hold(), [lease]);
  const { view } = lease;
  const status = useSyncExternalStore(
    useCallback((changed: () => void) => view.onState(changed), [view]),
    () => view.status,
    () => view.status,
  );
  if (suspense && !lease.isReady) {
    if (lease.error !== undefined) throw lease.error;
    throw lease.wait(); // this is how one suspends
  }
  const items = useItems(view, options, deps);
  return { view, items, status, isReady: lease.isReady, error: lease.error };
}

/** A collection (a view, or an optimistic one) in order. */
export function useItems<T>(source: Collection<T>, options: OrderOptions<T> = {}, deps: readonly unknown[] = []): readonly Item<T>[] {
  const store = useMemo(() => {
    // One list, one order: what a later rendering says, which React may throw away, must not change the order of a list that is there.
    const make = (): Ordered<T> => ordered(source, options);
    // What is only rendered, and maybe thrown away by React, follows nothing: whoever is mounted does.
    const first = make();
    let shown = first.list;
    first.close();
    const follow = (changed: () => void): (() => void) => {
      const list = make();
      const refresh = (): void => {
        shown = list.list;
        changed();
      };
      if (list.size !== shown.length || !list.list.every((item, i) => item === shown[i])) refresh();
      const end = list.subscribe(refresh);
      return () => {
        end();
        list.close();
      };
    };
    return { follow, read: () => shown };
    // The caller says what else the order depends on.
  }, [source, ...deps]);
  return useSyncExternalStore(store.follow, store.read, store.read);
}

/** One record; renders again only when this record changed. */
export function useRecord<T>(source: Collection<T>, key: Key): T | undefined {
  const item = useSyncExternalStore(
    useCallback((changed: () => void) => source.subscribe(changed), [source]),
    () => source.item(key),
    () => source.item(key),
  );
  return item?.record;
}

export interface MutationState<A extends readonly unknown[]> {
  /** Does it; what comes of it is in the other members. Resolves with the receipt, or with undefined where it was rejected. */
  readonly run: (...args: A) => Promise<Receipt | undefined>;
  /** How many are on their way. */
  readonly pending: number;
  /** Of the last one, until the next one starts. */
  readonly error: MutationRejected | undefined;
}

/** `const move = useMutation((id: string, list: string) => cards.update([id], { list }))` */
export function useMutation<A extends readonly unknown[]>(perform: (...args: A) => Promise<Receipt>): MutationState<A> {
  const [state, setState] = useState<{ pending: number; error: MutationRejected | undefined }>({ pending: 0, error: undefined });
  const latest = useRef(perform);
  latest.current = perform;
  const run = useCallback(async (...args: A): Promise<Receipt | undefined> => {
    setState(({ pending }) => ({ pending: pending + 1, error: undefined }));
    try {
      const receipt = await latest.current(...args);
      setState(({ pending, error }) => ({ pending: pending - 1, error }));
      return receipt;
    } catch (error) {
      setState(({ pending }) => ({ pending: pending - 1, error: error as MutationRejected }));
      return undefined;
    }
  }, []);
  return { run, ...state };
}

/** The connection's status, for a line at the top of the page. */
export function useStatus(): Client['status'] {
  const { client } = useProvided();
  return useSyncExternalStore(
    useCallback((changed: () => void) => client.onState(changed), [client]),
    () => client.status,
    () => client.status,
  );
}
