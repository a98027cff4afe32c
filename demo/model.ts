// Made by `viewgate types` from the model. Made anew when the model changes, not edited.

/** For `connect<Model>`: what the views show and are given, and what mutations write. */
export type Model = {
  readonly views: {
    readonly board: {
      readonly record: {
        readonly id: string;  // uuid
        readonly list: string;
        readonly title: string;
        readonly note: string | null;
        readonly assignee: string | null;
        readonly priority: number;  // integer
        readonly due: string | null;  // date
        readonly place: number;  // numeric
      };
      readonly params: Record<string, never>;
    };
    readonly overdrawn: {
      readonly record: {
        readonly aid: number;  // integer
        readonly bid: number | null;  // integer
        readonly abalance: number | null;  // integer
      };
      readonly params: Record<string, never>;
    };
    readonly watch: {
      readonly record: {
        readonly aid: number;  // integer
        readonly abalance: number | null;  // integer
      };
      readonly params: {
        readonly high: number | null;  // integer
        readonly low: number | null;  // integer
      };
    };
  };
  readonly tables: {
    readonly cards: {
      readonly key: readonly [string];
      readonly insert: {
        readonly id?: string;  // uuid
        readonly list: string;
        readonly title: string;
        readonly note?: string | null;
        readonly assignee?: string | null;
        readonly priority: number;  // integer
        readonly due?: string | null;  // date
        readonly place: number | string;  // numeric
      };
      readonly update: {
        readonly list?: string;
        readonly title?: string;
        readonly note?: string | null;
        readonly assignee?: string | null;
        readonly priority?: number;  // integer
        readonly due?: string | null;  // date
        readonly place?: number | string;  // numeric
      };
    };
  };
};
