// The messages and documents of writing, which only writer.ts knows: whoever does not write does not carry them.

import { membersOf } from './json.js';
import {
  list,
  number,
  optional,
  readDocument,
  readMembers,
  sequence,
  string,
  type Reader,
  type Sequence,
  type Shape,
} from './protocol.js';

export interface MutationTarget {
  readonly collection: string;
  /** The primary key's columns, in the order of the key. */
  readonly key: readonly unknown[];
  /** By conflict group: the sequence that the client has seen. */
  readonly bases?: { readonly [group: string]: Sequence };
}

export type Mutation =
  | ({ readonly kind: 'create' | 'put'; readonly record: object } & MutationTarget)
  | ({ readonly kind: 'update'; readonly changed: object } & MutationTarget)
  | ({ readonly kind: 'delete' } & MutationTarget);

/** One commit: all its mutations, or none. */
export interface Mutate {
  readonly type: 'mutate';
  readonly space: string;
  /** 1, 2, 3 … for each client and space: a decimal string. */
  readonly number: string;
  readonly mutations: readonly Mutation[];
  readonly request_id?: string;
  readonly provenance?: object;
}

/** Asks for the receipts of this client whose number is above `after`. */
export interface AskReceipts {
  readonly type: 'receipts';
  readonly space: string;
  readonly after: string;
}

/** Of one mutation of this client. `text` is the receipt as it came: the same bytes at each replay. */
export interface Receipt {
  readonly client: string;
  readonly number: string;
  readonly sequence: Sequence;
  readonly outcome: 'applied' | 'no_op' | 'rejected' | string;
  readonly reason?: string;
  readonly detail?: string;
  /** Of a conflict: the groups that have moved, and to which version. */
  readonly groups?: { readonly [group: string]: Sequence };
  readonly text: string;
}

export interface Receipts {
  readonly type: 'receipts';
  readonly space: string;
  readonly sequence: Sequence;
  readonly receipts: readonly Receipt[];
}

/** What an applied mutation did to a record. */
export interface Acknowledged {
  readonly collection: string;
  readonly key: readonly unknown[];
  /** Of its conflict groups, after it. */
  readonly versions?: { readonly [group: string]: Sequence };
}

/** What a receipt's text holds besides. */
export interface ReceiptText {
  readonly acknowledgement?: readonly Acknowledged[];
}

/** Why a mutation was not processed: its number stays free. */
export interface MutationError {
  readonly type: 'error';
  readonly code: string;
  readonly message: string;
  readonly space: string;
  readonly number: string;
  readonly expected?: string;
  /** Milliseconds. */
  readonly retry_after?: number;
}

const object: Reader<{ readonly [group: string]: Sequence }> = (members, name) => JSON.parse(members.get(name) ?? '') as never;

type Shapes = { readonly receipts: Shape<Receipts>; readonly error: Shape<MutationError> };

let shapes: Shapes | undefined;

/** Made when they are first needed: what is called while a module loads cannot be left out of a bundle. */
function shapesOfWriting(): Shapes {
  const receipt: Shape<Omit<Receipt, 'text'>> = {
    client: string,
    number: sequence,
    sequence,
    outcome: string,
    reason: optional(string),
    detail: optional(string),
    groups: optional(object),
  };
  return {
    receipts: { space: string, sequence, receipts: list((text) => ({ ...readMembers(membersOf(text), receipt), text })) },
    error: {
      code: string,
      message: string,
      space: string,
      number: string,
      expected: optional(string),
      retry_after: optional(number),
    },
  };
}

/** A document of writing; undefined: one that is not of it. */
export function decodeWriting(text: string): Receipts | MutationError | undefined {
  return readDocument(text, (shapes ??= shapesOfWriting())) as Receipts | MutationError | undefined;
}
