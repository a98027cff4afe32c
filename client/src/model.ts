// What `viewgate types` says of a model, as the types of this client use it. Nothing of it is there at run time.

import type { Mutation, MutationTarget } from './protocol_write.js';

/** The form of a generated `Model`. */
export interface AnyModel {
  readonly views: { readonly [view: string]: { readonly record: object; readonly params: object } };
  readonly tables: { readonly [table: string]: TableTypes };
}

/** The model of whoever has none: every name is one, and what takes a client takes those of every model. */
export type Untyped = any;

/** What mutations write of a managed table. */
export interface TableTypes {
  readonly key: readonly unknown[];
  readonly insert: object;
  readonly update: object;
}

/** `Yes` where the model says nothing. */
export type IfUnknown<Names, Yes, No> = string extends keyof Names ? Yes : No;

export type ViewNames<M extends AnyModel> = keyof M['views'] & string;
export type TableNames<M extends AnyModel> = keyof M['tables'] & string;
export type RecordOf<M extends AnyModel, V extends ViewNames<M>> = M['views'][V]['record'];
export type ParamsOf<M extends AnyModel, V extends ViewNames<M>> = M['views'][V]['params'];

/** `params` may be left out where there are none. */
export type Params<P> = {} extends P ? { readonly params?: P } : { readonly params: P };

type OfTable<C extends string, W extends TableTypes> = Omit<MutationTarget, 'collection' | 'key'> & {
  readonly collection: C;
  readonly key: W['key'];
} & (
    | { readonly kind: 'create' | 'put'; readonly record: W['insert'] }
    | { readonly kind: 'update'; readonly changed: W['update'] }
    | { readonly kind: 'delete' }
  );

/** A mutation of one of the model's tables. */
export type MutationOf<M extends AnyModel> = IfUnknown<
  M['tables'],
  Mutation,
  { readonly [C in TableNames<M>]: OfTable<C, M['tables'][C]> }[TableNames<M>]
>;

/** What may be written where the view's records are `T`. */
export type WritesOf<T, M extends AnyModel, C extends TableNames<M>> = IfUnknown<
  M['tables'],
  { readonly key: readonly unknown[]; readonly insert: object; readonly update: Partial<T> },
  M['tables'][C]
>;
