// The database of one principal in the browser: its object stores, and what every use of them needs.

/** Counted up whenever the form of what is stored changes. Sets are read anew then; mutations are kept. */
const version = 1;
export const prefix = 'viewgate ';
/**
 * In `views` and in `mutations`: a name that every clearing replaces. Whoever was opened before it finds, in the transaction of each write,
 * that the name is not the one of then, and writes nothing. It stands before all keys that are lists.
 */
export const cleared = 'cleared';
export const afterMark = (): IDBKeyRange => IDBKeyRange.lowerBound([]);

export interface Opened {
  readonly database: IDBDatabase;
  /** What `cleared` was, by object store. */
  readonly marks: { readonly views: unknown; readonly mutations: unknown };
}

/** Resolves when the request has its result. */
export function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Resolves when the transaction is on disk, rejects when none of it is. */
export function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

export async function open(name: string): Promise<Opened> {
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
