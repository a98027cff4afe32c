// Sets, their cursors and unanswered mutations in the browser's IndexedDB. A storage that cannot be had (private mode, no quota, another
// version of this code) is one that has nothing stored: nothing here ever fails the application.

import type { Shown } from './channels.js';
import { encode } from './protocol.js';
import type { Store } from './store.js';
import type { StoredView, Subscription, ViewName } from './subscriptions.js';
import { ViewWrites, type Write } from './view_writes.js';
import { randomName, type MutationStore } from './writer.js';

export interface StorageOptions {
  /** Whose it is: nobody else is shown anything of it. */
  readonly principal: string;
  /** Told once for each thing that could not be stored, for instance beyond the quota. */
  readonly onError?: (error: unknown) => void;
}

export interface Storage {
  /** For `connect`. */
  readonly store: Store;
  /** For `writer`. */
  readonly mutations: MutationStore;
  /** At sign-out: resolves when nothing is left of this principal. Other pages that are open store nothing of them any more either. */
  clear(): Promise<void>;
  /**
   * Keeps what is stored, and leaves it to the next storage of this principal, in this page or another: for a page that goes on as somebody
   * else. The client is closed before, and not started again. Resolves when all is written.
   */
  close(): Promise<void>;
}

/** Counted up whenever the form of what is stored changes. Sets are read anew then; mutations are kept. */
const version = 1;
const prefix = 'viewgate ';
/**
 * In `views` and in `mutations`: a name that every clearing replaces. Whoever was opened before it finds, in the transaction of each write,
 * that the name is not the one of then, and writes nothing. It stands before all keys that are lists.
 */
const cleared = 'cleared';
const afterMark = (): IDBKeyRange => IDBKeyRange.lowerBound([]);

interface Opened {
  readonly database: IDBDatabase;
  /** What `cleared` was, by object store. */
  readonly marks: { readonly views: unknown; readonly mutations: unknown };
}

/** Never rejects, and is there before the first connection: `connect({ …, store: storage.store })`. */
export async function indexedDbStorage(options: StorageOptions): Promise<Storage> {
  const { principal, onError = () => undefined } = options;
  const opened = await open(prefix + principal).catch((error: unknown) => void onError(error));
  const views = new IndexedDbStore(principal, opened, onError);
  const mutations = await mutationStore(principal, opened, onError);
  return {
    store: views,
    mutations,
    clear: () => views.clear(),
    close: () => {
      mutations.close();
      return views.close();
    },
  };
}

/** Resolves when the request has its result. */
export function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Resolves when the transaction is on disk, rejects when none of it is. */
function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

async function open(name: string): Promise<Opened> {
  // Some browsers throw here in private mode.
  const request = indexedDB.open(name, version);
  request.onupgradeneeded = () => {
    const database = request.result;
    for (const store of ['views', 'records']) {
      if (database.objectStoreNames.contains(store)) database.deleteObjectStore(store);
      database.createObjectStore(store);
    }
    if (!database.objectStoreNames.contains('mutations')) database.createObjectStore('mutations');
  };
  const database = await done(request);
  // A page with newer code must not wait for this one.
  database.onversionchange = () => database.close();
  const transaction = database.transaction(['views', 'mutations']);
  const [views, mutations] = await Promise.all(
    ['views', 'mutations'].map((store) => done<unknown>(transaction.objectStore(store).get(cleared))),
  );
  return { database, marks: { views, mutations } };
}

class IndexedDbStore implements Store {
  private readonly writes = new ViewWrites();
  private readonly database: IDBDatabase | undefined;
  private readonly mark: unknown;
  private isWriting = false;
  private written = Promise.resolve();
  private isOff: boolean;

  constructor(readonly principal: string, opened: Opened | void, private readonly onError: (error: unknown) => void) {
    this.database = opened?.database;
    this.mark = opened?.marks.views;
    this.isOff = opened === undefined;
  }

  async load(name: ViewName): Promise<StoredView | undefined> {
    if (!this.database) return undefined;
    try {
      const id = idOf(name);
      const transaction = this.database.transaction(['views', 'records']);
      const records = transaction.objectStore('records');
      const [row, keys, texts] = await Promise.all([
        done(transaction.objectStore('views').get(id) as IDBRequest<Row | undefined>),
        done(records.getAllKeys(rangeOf(id))),
        done(records.getAll(rangeOf(id)) as IDBRequest<string[]>),
      ]);
      if (row === undefined) return undefined;
      this.writes.loaded(id, row);
      return { ...row, records: keys.map((key, i) => [(key as [string, string])[1], texts[i] ?? ''] as const) };
    } catch (error) {
      this.onError(error);
      return undefined;
    }
  }

  save(shown: readonly Shown<Subscription>[]): void {
    if (this.isOff) return;
    for (const { member, change } of shown) this.writes.add(idOf(member), member, change);
    if (!this.isWriting) this.written = this.write();
  }

  /** What is shown from now on is not stored either. */
  async clear(): Promise<void> {
    this.stop();
    if (!this.database) return;
    try {
      const transaction = this.database.transaction(['views', 'records', 'mutations'], 'readwrite');
      for (const name of Array.from(transaction.objectStoreNames)) transaction.objectStore(name).clear();
      const mark = randomName();
      for (const name of ['views', 'mutations']) transaction.objectStore(name).put(mark, cleared);
      await committed(transaction);
    } catch (error) {
      this.onError(error);
    }
  }

  /** What has been shown is still written. */
  async close(): Promise<void> {
    this.isOff = true;
    await this.written;
    this.database?.close();
  }

  private stop(): void {
    this.isOff = true;
    this.writes.forget();
  }

  /** One transaction at a time; what comes meanwhile goes into the next one, commits together. */
  private async write(): Promise<void> {
    this.isWriting = true;
    while (this.database && this.writes.size > 0) {
      const batch = this.writes.take();
      try {
        const transaction = this.database.transaction(['views', 'records'], 'readwrite');
        await Promise.all([committed(transaction), this.fill(transaction, batch)]);
        this.writes.written(batch);
      } catch (error) {
        this.writes.failed(batch);
        this.onError(error);
      }
    }
    this.isWriting = false;
  }

  private async fill(transaction: IDBTransaction, batch: ReadonlyMap<string, Write>): Promise<void> {
    const views = transaction.objectStore('views');
    const records = transaction.objectStore('records');
    try {
      if ((await done<unknown>(views.get(cleared))) !== this.mark) return this.stop();
      for (const [id, write] of batch) {
        const decided = this.writes.decide(id, write, (await done(views.get(id))) as Row | undefined, Date.now());
        if (decided === undefined) continue;
        if (decided.whole) records.delete(rangeOf(id));
        for (const [key, text] of decided.records) {
          if (text === undefined) records.delete([id, key]);
          else records.put(text, [id, key]);
        }
        if (decided.row === undefined) views.delete(id);
        else views.put(decided.row, id);
      }
    } catch (error) {
      if (transaction.error === null) abort(transaction);
      throw error;
    }
  }
}

/** One that has ended already is over anyway. */
function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch (error) {
    if ((error as Error).name !== 'InvalidStateError') throw error;
  }
}

/** What is stored of a view beside its records. @form */
export interface Row {
  readonly context: string;
  readonly position: string;
  readonly sequence: string;
  /** Which page wrote it, and when: of several pages one writes. */
  readonly page: string;
  readonly at: number;
}

function idOf({ space, view, params }: ViewName): string {
  return encode([space, view, Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function rangeOf(id: string): IDBKeyRange {
  return IDBKeyRange.bound([id], [id, []]);
}

/** What is stored of the mutations of a client in a space. @form */
interface StoredMutations {
  readonly last: number;
  readonly texts: readonly string[];
}

type StoredClients = Map<string, { space: string; last: number; texts: readonly string[] }[]>;

/** By client; undefined where it cannot be read. */
async function readMutations(database: IDBDatabase, onError: (error: unknown) => void): Promise<StoredClients | undefined> {
  const stored: StoredClients = new Map();
  try {
    const store = database.transaction('mutations').objectStore('mutations');
    const [keys, values] = await Promise.all([
      done(store.getAllKeys(afterMark())),
      done(store.getAll(afterMark()) as IDBRequest<StoredMutations[]>),
    ]);
    for (const [i, key] of (keys as [string, string][]).entries()) {
      const [client, space] = key;
      const { last = 0, texts = [] } = values[i] ?? {};
      stored.set(client, [...(stored.get(client) ?? []), { space, last, texts }]);
    }
    return stored;
  } catch (error) {
    onError(error);
    return undefined;
  }
}

/**
 * A page that is loaded again asks for its locks while the browser still takes them from the page before: without patience its mutations
 * would wait for the page after it.
 */
const handover = 1_000;

/** `close`: another one may take over the name. */
type OwnMutations = MutationStore & { close(): void };

/** Takes over the name and the mutations of a page that is gone, if there is one; one name is used by one page at a time. */
async function mutationStore(principal: string, opened: Opened | void, onError: (error: unknown) => void): Promise<OwnMutations> {
  const database = opened?.database;
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  // Without locks two pages could take the same name: then each page has a new one, and what a page left stays where it is.
  let stored: StoredClients = (database && locks && (await readMutations(database, onError))) || new Map();
  const unanswered = (client: string): number => (stored.get(client) ?? []).reduce((sum, { texts }) => sum + texts.length, 0);
  const known = [...stored.keys()].sort((a, b) => unanswered(b) - unanswered(a));
  let client = randomName();
  let release: (() => void) | undefined;
  const until = Date.now() + handover;
  for (const name of locks ? [...known, client] : []) {
    const patience = unanswered(name) > 0 ? Math.max(0, until - Date.now()) : 0;
    release = await hold(locks as LockManager, `${prefix}${principal} ${name}`, patience);
    if (release === undefined) continue;
    client = name;
    break;
  }
  // Read again under the lock: the page before may have written until it ended, or another one has cleared it.
  if (database && known.includes(client)) stored = (await readMutations(database, onError)) ?? stored;
  let isClosed = false;
  return {
    client,
    principal,
    stored: stored.get(client) ?? [],
    save: async (space, last, texts) => {
      // Somebody else may number under this name now: what comes too late is never stored, and so never sent.
      if (isClosed) return new Promise(() => undefined);
      if (!opened) return;
      try {
        const transaction = opened.database.transaction('mutations', 'readwrite');
        const store = transaction.objectStore('mutations');
        const mark: IDBRequest<unknown> = store.get(cleared);
        mark.onsuccess = () => mark.result === opened.marks.mutations && store.put({ last, texts }, [client, space]);
        await committed(transaction);
      } catch (error) {
        onError(error);
      }
    },
    close: () => {
      isClosed = true;
      release?.();
    },
  };
}

/** Takes a lock, and gives what releases it; undefined where another page has it, and has it still after so many milliseconds. */
function hold(locks: LockManager, name: string, patience: number): Promise<(() => void) | undefined> {
  return new Promise((resolve) => {
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), patience);
    const held = locks.request(name, patience > 0 ? { signal: end.signal } : { ifAvailable: true }, (lock) => {
      clearTimeout(timer);
      if (lock === null) return resolve(undefined);
      return new Promise<void>((release) => resolve(release));
    });
    held.catch(() => resolve(undefined));
  });
}
