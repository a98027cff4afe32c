// Unanswered mutations in the browser's IndexedDB, each under the name of the client that numbered it. A name is used by one client at a
// time, who holds a lock on it: in whatever page it lives.

import { afterMark, cleared, committed, done, prefix, type Opened } from './database.js';
import { randomName, type MutationStore } from './writer.js';

/** What is stored of the mutations of a client in a space. @form */
interface StoredMutations {
  readonly last: number;
  readonly texts: readonly string[];
}

type StoredClients = Map<string, { space: string; last: number; texts: readonly string[] }[]>;

/** By client; undefined where it cannot be read. `mark`: of the clearing that it all came after. */
async function readMutations(database: IDBDatabase, onError: Tell): Promise<{ mark: unknown; stored: StoredClients } | undefined> {
  const stored: StoredClients = new Map();
  try {
    const store = database.transaction('mutations').objectStore('mutations');
    const [mark, keys, values] = await Promise.all([
      done<unknown>(store.get(cleared)),
      done(store.getAllKeys(afterMark())),
      done(store.getAll(afterMark()) as IDBRequest<StoredMutations[]>),
    ]);
    for (const [i, key] of (keys as [string, string][]).entries()) {
      const [client, space] = key;
      const { last = 0, texts = [] } = values[i] ?? {};
      stored.set(client, [...(stored.get(client) ?? []), { space, last, texts }]);
    }
    return { mark, stored };
  } catch (error) {
    onError(error);
    return undefined;
  }
}

function unanswered(stored: StoredClients, client: string): number {
  return (stored.get(client) ?? []).reduce((sum, { texts }) => sum + texts.length, 0);
}

/**
 * A page that is loaded again asks for its locks while the browser still takes them from the page before: without patience its mutations
 * would wait for the page after it.
 */
const handover = 1_000;
/** So many clients that are gone have their mutations sent at a time: each of them over a connection. */
const abandonedMax = 4;

type Tell = (error: unknown) => void;

/** Of a name. */
interface NameLock {
  readonly locks: LockManager;
  readonly name: string;
  release: () => void;
}

const nothing = (): void => undefined;

/** Takes over the name and the mutations of a client that is gone, if there is one. */
export async function mutationStore(principal: string, opened: Opened | void, onError: Tell): Promise<OwnMutations> {
  const database = opened?.database;
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  // Without locks two pages could take the same name: then each page has a new one, and what a page left stays where it is.
  const found = database && locks && (await readMutations(database, onError));
  let stored: StoredClients = found?.stored ?? new Map();
  const known = [...stored.keys()].sort((a, b) => unanswered(stored, b) - unanswered(stored, a));
  let client = randomName();
  let lock: NameLock | undefined;
  const until = Date.now() + handover;
  for (const each of locks ? [...known, client] : []) {
    const name = lockName(principal, each);
    const patience = unanswered(stored, each) > 0 ? Math.max(0, until - Date.now()) : 0;
    const release = await hold(locks as LockManager, name, patience);
    if (release === undefined) continue;
    lock = { locks: locks as LockManager, name, release };
    client = each;
    break;
  }
  // Read again under the lock: the page before may have written until it ended, or another one has cleared it.
  if (database && known.includes(client)) stored = (await readMutations(database, onError))?.stored ?? stored;
  return new OwnMutations(client, principal, stored.get(client) ?? [], opened, onError, lock);
}

function lockName(principal: string, client: string): string {
  return `${prefix}${principal} ${client}`;
}

export class OwnMutations implements MutationStore {
  /** The last number of each space, as this client has given them. */
  private readonly last: Map<string, number>;
  /** Whether nobody else numbers under this name: not known while the client is closed, and false for good. */
  private isOurs: boolean | Promise<boolean> = true;
  private decide: (isOurs: boolean) => void = nothing;
  /** Counts closings and starts. */
  private turn = 0;
  /** Of clients that are gone. */
  private readonly others: OwnMutations[] = [];

  constructor(
    readonly client: string,
    readonly principal: string,
    readonly stored: MutationStore['stored'],
    private readonly opened: Opened | void,
    private readonly onError: Tell,
    private readonly lock: NameLock | undefined,
  ) {
    this.last = new Map(stored.map(({ space, last }) => [space, last]));
  }

  async save(space: string, last: number, texts: readonly string[]): Promise<void> {
    // What comes too late is never stored, and so never sent.
    if (this.isOurs !== true && !(await this.isOurs)) return new Promise(nothing);
    const { opened } = this;
    if (!opened) return;
    this.last.set(space, last);
    try {
      const transaction = opened.database.transaction('mutations', 'readwrite');
      const store = transaction.objectStore('mutations');
      const mark: IDBRequest<unknown> = store.get(cleared);
      mark.onsuccess = () => mark.result === opened.marks.mutations && store.put({ last, texts }, [this.client, space]);
      await committed(transaction);
    } catch (error) {
      this.onError(error);
    }
  }

  /** Of what is being written when a client is closed the next one knows: its reading comes behind it. */
  rest(isResting: boolean): void {
    const turn = ++this.turn;
    if (this.lock === undefined || this.isOurs === false) return;
    if (!isResting) return void this.takeBack(this.lock, turn);
    this.lock.release();
    if (this.isOurs === true) this.isOurs = new Promise((decide) => (this.decide = decide));
  }

  async abandoned(): Promise<readonly MutationStore[]> {
    const { opened, lock, turn, principal } = this;
    if (opened === undefined || lock === undefined || !(await this.isOurs)) return [];
    const { stored = new Map() as StoredClients } = (await readMutations(opened.database, this.onError)) ?? {};
    const held = new Map<string, NameLock>();
    for (const client of stored.keys()) {
      if (client === this.client || unanswered(stored, client) === 0 || held.size === abandonedMax) continue;
      const name = lockName(principal, client);
      const release = await hold(lock.locks, name, 0);
      if (release !== undefined) held.set(client, { locks: lock.locks, name, release });
    }
    if (held.size === 0) return [];
    // Again under the locks. What came after a clearing is of a page that knows of it.
    const found = await readMutations(opened.database, this.onError);
    const isOurs = found !== undefined && found.mark === opened.marks.mutations && turn === this.turn;
    const out: OwnMutations[] = [];
    for (const [client, each] of held) {
      if (!isOurs || unanswered(found.stored, client) === 0) each.release();
      else out.push(new OwnMutations(client, principal, found.stored.get(client) ?? [], opened, this.onError, each));
    }
    this.others.push(...out);
    return out;
  }

  /** For good. */
  close(): void {
    ++this.turn;
    this.lock?.release();
    this.settle(false);
    for (const other of this.others) other.close();
  }

  private async takeBack(lock: NameLock, turn: number): Promise<void> {
    const release = await hold(lock.locks, lock.name, handover);
    const isOurs = release !== undefined && (await this.isUntouched());
    if (turn !== this.turn) return release?.();
    if (!isOurs) {
      release?.();
      this.onError(new Error('somebody else goes on with what this client did until it was closed: it writes nothing any more, connect anew'));
    }
    lock.release = (isOurs ? release : undefined) ?? nothing;
    this.settle(isOurs);
  }

  /** Whoever had the name meanwhile may have sent what is stored, which may be sent twice, and has given no number. */
  private async isUntouched(): Promise<boolean> {
    if (!this.opened) return true;
    const found = await readMutations(this.opened.database, this.onError);
    return found !== undefined && (found.stored.get(this.client) ?? []).every(({ space, last }) => last === this.last.get(space));
  }

  private settle(isOurs: boolean): void {
    this.isOurs = isOurs;
    this.decide(isOurs);
  }
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
