// Sets, their cursors and unanswered mutations in the browser's IndexedDB. A storage that cannot be had (private mode, no quota, another
// version of this code) is one that has nothing stored: nothing here ever fails the application.

import type { Shown } from './channels.js';
import { cleared, committed, done, open, prefix, type Opened } from './database.js';
import { encode } from './protocol.js';
import type { Store } from './store.js';
import { mutationStore } from './stored_mutations.js';
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
   * Keeps what is stored, and takes nothing more. The client is closed before, and not started again. Resolves when all is written: for a
   * page that goes on as somebody else.
   */
  close(): Promise<void>;
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
    if (!this.database || this.isOff) return undefined;
    try {
      const id = idOf(name);
      const transaction = this.database.transaction(['views', 'records']);
      const records = transaction.objectStore('records');
      const [mark, row, keys, texts] = await Promise.all([
        done<unknown>(transaction.objectStore('views').get(cleared)),
        done(transaction.objectStore('views').get(id) as IDBRequest<Row | undefined>),
        done(records.getAllKeys(rangeOf(id))),
        done(records.getAll(rangeOf(id)) as IDBRequest<string[]>),
      ]);
      // Meanwhile it may have been cleared, here or by another page: what is there now is not this one's.
      if (row === undefined || mark !== this.mark || this.isOff) return undefined;
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
