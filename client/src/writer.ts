// Writing: mutations that show at once, are sent when there is a connection, and end with a receipt. Comes beside the core.

import { Client } from './client.js';
import { Listeners } from './listeners.js';
import type { AnyModel, MutationOf, Untyped } from './model.js';
import { parseLossless } from './numbers.js';
import { compareSequences, type Sequence } from './protocol.js';
import { decodeWriting, type Mutation, type MutationError, type Receipt, type Receipts } from './protocol_write.js';
import type { View } from './view.js';
import { faultOf, MutationRejected, WriteQueue, type Entry, type MutateOptions, type StoredEntry } from './write_queue.js';

/** Where unanswered mutations outlive the page. One is used by one page at a time. Nothing here may reject. */
export interface MutationStore {
  /** Names this client to the server, for good: its mutations are numbered under it. */
  readonly client: string;
  /** Whose mutations these are, where it is known: on a connection of somebody else nothing of them is sent. */
  readonly principal?: string;
  /**
   * What the page before left: by space the last number, and what has no receipt, in order: the exact messages, and after them what
   * could not be one yet.
   */
  readonly stored: readonly { readonly space: string; readonly last: number; readonly texts: readonly string[] }[];
  /** Resolves when all of that is stored for the space. */
  save(space: string, last: number, texts: readonly string[]): Promise<void>;
  /** What other clients left that are gone, and that nobody goes on with: from now on the caller does. */
  abandoned?(): Promise<readonly MutationStore[]>;
  /** The client was closed: somebody else may go on under its name. Or it was started again. */
  rest?(isResting: boolean): void;
}

export interface WriterOptions {
  /** Milliseconds after which a message without an answer is sent again; default 15,000. */
  readonly patience?: number;
  /** Default: mutations live as long as the page. */
  readonly store?: MutationStore;
}

/** A mutation on its way: what a collection shows over what the server said. */
export interface Pending {
  readonly space: string;
  readonly mutation: Mutation;
  readonly entry: Entry;
}

/** Of a view, what tells how far it has come. */
export type Watched = Pick<View, 'space' | 'sequence' | 'status'> & { onState(listener: () => void): () => void };

const retryDefault = 1_000;
/** A message that has no answer for so long is sent again, which is harmless: an answer may be lost where a connection is not. */
const patience = 15_000;

export class Writer<M extends AnyModel = Untyped> {
  /** Under which the server numbers this page's mutations. */
  readonly client: string;
  private readonly store: MutationStore | undefined;
  private readonly patience: number;
  private readonly queues = new Map<string, WriteQueue>();
  /** Settled, and still shown, until the views stand at their commit. */
  private settled: { readonly space: string; readonly entry: Entry }[] = [];
  private readonly listeners = new Listeners<void>();
  private readonly rejectedListeners = new Listeners<MutationRejected>();
  private readonly send: (message: string) => void;
  private readonly views: Set<Watched>;
  /** Of clients that are gone: each goes on under its name, over a line of its own, until all has a receipt. */
  private relays: Writer<M>[] = [];
  private wasOnline = false;
  private wasClosed = false;
  /** Something is pending no more, which is told when the views have moved. */
  private hasNews = false;
  private readonly paused = new Set<string>();
  private readonly watches = new Map<string, unknown>();

  /** Made by `writer`; a relay by its `leader`, in whose views its effects are seen. */
  constructor(private readonly gate: Client<M>, options: WriterOptions, private readonly leader?: Writer<M>) {
    this.views = leader?.views ?? new Set();
    this.store = options.store;
    this.patience = options.patience ?? patience;
    this.client = options.store?.client ?? randomName();
    for (const { space, last, texts } of options.store?.stored ?? []) this.restore(space, last, texts);
    this.send = gate.extend({
      greeting: { client: this.client },
      document: (text) => this.document(text),
      forget: () => this.forget(),
      stepped: () => this.stepped(),
    });
    void this.adopt();
  }

  /**
   * One commit: all of the mutations or none. Resolves with the receipt (`applied` or `no_op`), rejects with a MutationRejected.
   * Offline it waits; what was asked for before a reload is sent all the same, where there is a store.
   */
  mutate(space: string, mutations: readonly MutationOf<M>[], options: MutateOptions = {}): Promise<Receipt> {
    const fault = faultOf(mutations as readonly Mutation[], options);
    const refused = fault === undefined ? undefined : new MutationRejected('bad_request', fault);
    const result = new Promise<Receipt>((resolve, reject) => {
      if (refused !== undefined) reject(refused);
      else this.queue(space).add({ mutations: mutations as readonly Mutation[], options, resolve, reject });
    });
    // Whoever does not wait for it hears of it by onRejected.
    result.catch(() => undefined);
    if (refused !== undefined) this.rejectedListeners.tell(refused);
    else this.added(space);
    return result;
  }

  /** Everything that is shown and not yet part of the views, in order. */
  *pending(): IterableIterator<Pending> {
    for (const relay of this.relays) yield* relay.pending();
    for (const { space, entry } of this.settled) for (const mutation of entry.mutations) yield { space, mutation, entry };
    for (const { space, entries } of this.queues.values()) {
      for (const entry of entries) for (const mutation of entry.mutations) yield { space, mutation, entry };
    }
  }

  /** Mutations without a receipt. */
  get unanswered(): number {
    const own = [...this.queues.values()].reduce((sum, { entries }) => sum + entries.length, 0);
    return this.relays.reduce((sum, { unanswered }) => sum + unanswered, own);
  }

  /** What is settled stays pending until this view shows it. Returns the end of it. */
  watch(view: Watched): () => void {
    this.views.add(view);
    // A view can end on no event of the client, where others share its subscription; not in the middle of one.
    const end = view.onState(() => isOver(view) && void Promise.resolve().then(() => this.stepped()));
    return () => {
      end();
      this.views.delete(view);
    };
  }

  /** Called when what is pending is another. */
  onChange(listener: () => void): () => void {
    return this.listeners.add(listener);
  }

  /** Called for every mutation that is rejected, also for those of the page before. */
  onRejected(listener: (error: MutationRejected) => void): () => void {
    return this.rejectedListeners.add(listener);
  }

  private added(space: string): void {
    this.listeners.tell();
    this.pump(space, true);
  }

  private queue(space: string): WriteQueue {
    let queue = this.queues.get(space);
    if (queue === undefined) this.queues.set(space, (queue = new WriteQueue(space)));
    return queue;
  }

  private restore(space: string, last: number, texts: readonly string[]): void {
    const queue = new WriteQueue(space, last - texts.length);
    this.queues.set(space, queue);
    for (const text of texts) {
      const { number, mutations, options } = parseLossless(text) as StoredEntry;
      queue.last = Number(number) - 1;
      const entry = queue.add({ mutations, options: options ?? {}, resolve: () => undefined, reject: () => undefined });
      if (options === undefined) Object.assign(entry, { text, isStored: true, wasSent: true });
    }
    queue.last = last;
  }

  /** What clients left that are gone shows here, and is sent when this page is online. */
  private async adopt(): Promise<void> {
    const stores = this.leader === undefined ? await this.store?.abandoned?.() : undefined;
    if (stores === undefined || stores.length === 0) return;
    if (this.gate.status === 'closed') return stores.forEach((store) => store.rest?.(true));
    for (const store of stores) {
      const relay = new Writer(this.line(), { store, patience: this.patience }, this);
      relay.onChange(() => this.listeners.tell());
      relay.onRejected((error) => this.rejectedListeners.tell(error));
      this.relays.push(relay);
    }
    this.listeners.tell();
  }

  /** Another one to the gateway, which has no token before this page is online. */
  private line(): Client<M> {
    const { store, ...options } = this.gate.direct;
    const token = (): Promise<string> | string => {
      if (this.gate.status !== 'online') throw new Error('not yet');
      return options.token();
    };
    return new Client<M>({ ...options, token });
  }

  private pump(space: string, isNew = false): void {
    const queue = this.queue(space);
    if (queue.settle().length > 0 || isNew) this.save(queue);
    if (this.gate.status !== 'online' || this.paused.has(space) || this.isOfAnother) return;
    const { texts, tooLarge } = queue.take(this.gate.welcome?.message_bytes ?? Infinity);
    for (const text of texts) this.send(text);
    this.watchFor(queue);
    if (tooLarge === undefined) return;
    const [entry, excess] = tooLarge;
    this.reject(entry, new MutationRejected('too_large', `more than the server takes in one message: ${excess}`));
    this.added(space);
  }

  /** The connection is not that of the store's principal, and the client has no storage that says so first. */
  private get isOfAnother(): boolean {
    const { principal } = this.store ?? {};
    return principal !== undefined && this.gate.status === 'online' && this.gate.principal !== principal;
  }

  private watchFor(queue: WriteQueue): void {
    this.gate.clock.clear(this.watches.get(queue.space));
    this.watches.delete(queue.space);
    if (!queue.isWaiting) return;
    const again = (): void => {
      if (this.gate.status !== 'online') return;
      queue.connected();
      this.pump(queue.space);
    };
    this.watches.set(queue.space, this.gate.clock.set(again, this.patience));
  }

  /** Before a message is sent for the first time it is stored: after a reload its number must not stand for another one. */
  private save(queue: WriteQueue): void {
    const saved = queue.entries.map((entry) => ({ entry, text: entry.text ?? queue.draftOf(entry) }));
    const stored = (): void => {
      // Meanwhile it may have got another number, and with it another text.
      for (const { entry, text } of saved) entry.isStored ||= entry.text === text;
      this.pump(queue.space);
    };
    if (this.store === undefined) return stored();
    void this.store.save(queue.space, queue.last, saved.map(({ text }) => text)).then(stored);
  }

  private document(text: string): void {
    const document = decodeWriting(text);
    if (document?.type === 'receipts') this.receipts(document);
    else if (document?.type === 'error') this.refused(document);
  }

  private receipts({ space, receipts }: Receipts): void {
    this.hasNews = true;
    const queue = this.queue(space);
    for (const receipt of receipts) {
      if (receipt.client !== this.client) continue;
      const entry = queue.received(receipt);
      if (entry === undefined) continue;
      if (receipt.outcome === 'rejected') {
        const { reason = 'rejected', detail = reason, groups } = receipt;
        this.reject(entry, new MutationRejected(reason, detail, groups, receipt));
      } else {
        this.settled.push({ space, entry });
        entry.resolve(receipt);
      }
    }
    this.save(queue);
  }

  private refused(error: MutationError): void {
    this.hasNews = true;
    const queue = this.queue(error.space);
    const entry = queue.refused(error);
    if (entry !== undefined) this.reject(entry, new MutationRejected(error.code, error.message));
    if (error.code === 'unavailable' && !this.paused.has(error.space)) {
      this.paused.add(error.space);
      const goOn = (): void => {
        this.paused.delete(error.space);
        this.pump(error.space);
      };
      this.gate.clock.set(goOn, error.retry_after ?? retryDefault);
    }
    this.save(queue);
  }

  /** What one principal did is neither sent for the next one nor shown to them. */
  private forget(): void {
    const message = 'given up without an answer: the token that came after it is of somebody else, or the access was revoked';
    this.settled = [];
    for (const queue of this.queues.values()) {
      const given = queue.forget();
      this.watchFor(queue);
      this.save(queue);
      for (const entry of given) this.reject(entry, new MutationRejected('signed_out', message));
    }
    for (const relay of this.relays) relay.forget();
    this.listeners.tell();
  }

  private reject(entry: Entry, error: MutationRejected): void {
    entry.reject(error);
    this.rejectedListeners.tell(error);
  }

  /** After each event of the client, and so after each message: a receipt's effect is in the views now. */
  private stepped(): void {
    if (this.isOfAnother && this.unanswered > 0) this.forget();
    const isClosed = this.gate.status === 'closed';
    if (isClosed !== this.wasClosed) {
      this.store?.rest?.((this.wasClosed = isClosed));
      this.restRelays(isClosed);
    }
    const isOnline = this.gate.status === 'online';
    if (isOnline !== this.wasOnline) {
      this.wasOnline = isOnline;
      for (const queue of this.queues.values()) {
        queue.connected();
        this.pump(queue.space);
      }
      if (isOnline) this.startRelays();
    }
    this.stepRelays();
    const settled = this.settled.filter(({ space, entry }) => !this.isShown(space, entry.receipt?.sequence ?? '0'));
    const hasNews = this.hasNews || settled.length < this.settled.length;
    this.settled = settled;
    this.hasNews = false;
    if (hasNews) this.listeners.tell();
    if (this.leader !== undefined && this.unanswered === 0 && !isClosed) this.gate.close();
  }

  private startRelays(): void {
    for (const relay of this.relays) if (relay.unanswered > 0) relay.gate.retry();
    if (!this.isOfAnother) void this.adopt();
  }

  /** A client that is closed lets others' names go, too; one that is started again looks for what is left of them. */
  private restRelays(isResting: boolean): void {
    for (const relay of this.relays) relay.gate.close();
    if (isResting) return;
    this.relays = [];
    this.hasNews = true;
  }

  /** What has a receipt waits for the views, which move with this client. */
  private stepRelays(): void {
    if (this.relays.length === 0) return;
    for (const relay of this.relays) relay.stepped();
    this.relays = this.relays.filter((relay) => relay.unanswered > 0 || relay.settled.length > 0);
    // There may be more of them than are gone on with at a time.
    if (this.relays.length === 0) void this.adopt();
  }

  /**
   * Views that are ready hold everything up to the receipt's commit by the end of its message. One that is on its way holds it when
   * it has come that far, and one that is over never will. What comes over a relay's line says nothing of them.
   */
  private isShown(space: string, sequence: Sequence): boolean {
    for (const view of this.views) {
      const isBehind = view.space === space && compareSequences(view.sequence, sequence) < 0;
      if (isBehind && (view.status !== 'live' || this.leader !== undefined) && !isOver(view)) return false;
    }
    return true;
  }
}

/** Nothing comes to it any more. */
function isOver({ status }: Watched): boolean {
  return status === 'closed' || status === 'denied' || status === 'failed';
}

/** No secret, only a name that nobody else has: pages without a secure context and Node 18 have no `crypto`. */
export function randomName(): string {
  return Array.from({ length: 3 }, () => Math.random().toString(36).slice(2, 13)).join('');
}

/** Lets a client write. Made right after `connect`, so that the first greeting names it: later, the client connects anew. */
export function writer<M extends AnyModel = Untyped>(client: Client<M>, options: WriterOptions = {}): Writer<M> {
  return new Writer(client, options);
}
