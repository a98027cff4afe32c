// Made by `viewgate types` from the model. Made anew when the model changes, not edited.

import { bigint, columns, digits, float, parseLossless } from '@viewgate/client';

const parsers = new Map<string, (text: string) => unknown>([
  ["a \\ view", columns({ id: bigint, amount: digits, real4: float, real8: float, next: bigint })],
  ["parts_of_kind", columns({ n: bigint, amount: digits })],
  ["plain", columns({ id: bigint })],
]);

/** For the options of `connect`: reads records as the types below say. */
export function parse(text: string, view: string): unknown {
  return (parsers.get(view) ?? parseLossless)(text);
}

/** For `connect<Model>`: what the views show and are given, and what mutations write. */
export type Model = {
  readonly views: {
    readonly "a \\ view": {
      readonly record: {
        readonly id: bigint;  // bigint
        readonly space: string;
        readonly small: number | null;  // smallint
        readonly amount: string | null;  // numeric
        readonly label: string | null;
        readonly flag: boolean | null;  // boolean
        readonly uid: string | null;  // uuid
        readonly at: string | null;  // timestamp with time zone
        readonly due: string | null;  // date
        readonly doc: unknown;  // jsonb
        readonly "\"A b\\": string | null;
        readonly span: unknown;
        readonly mood: "sad" | "ok" | "happy" | null;
        readonly tags: readonly (string | null)[] | null;
        readonly real4: number | null;  // real
        readonly real8: number | null;  // double precision
        readonly next: bigint | null;  // bigint
      };
      readonly params: {
        readonly flag: boolean | null;  // boolean
        readonly low: number | bigint | string | null;  // bigint
        readonly "the moods": readonly ("sad" | "ok" | "happy" | null)[] | null;
      };
    };
    readonly parts_of_kind: {
      readonly record: {
        readonly kind: string;
        readonly n: bigint;  // bigint
        readonly name: string;
        readonly amount: string | null;  // numeric
        readonly spec: unknown;  // jsonb
      };
      readonly params: {
        readonly kind: string | null;
      };
    };
    readonly plain: {
      readonly record: {
        readonly id: bigint;  // bigint
        readonly space: string;
      };
      readonly params: Record<string, never>;
    };
  };
  readonly tables: {
    readonly parts: {
      readonly key: readonly [string, number | bigint | string];
      readonly insert: {
        readonly kind?: string;
        readonly n?: number | bigint | string;  // bigint
        readonly name: string;
        readonly amount?: number | string | null;  // numeric
        readonly ratio?: number | string | null;  // double precision
        readonly spec?: unknown;  // jsonb
        readonly since: string;  // timestamp with time zone
      };
      readonly update: {
        readonly name?: string;
        readonly amount?: number | string | null;  // numeric
        readonly ratio?: number | string | null;  // double precision
        readonly spec?: unknown;  // jsonb
        readonly since?: string;  // timestamp with time zone
      };
    };
  };
};
