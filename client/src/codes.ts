// The close codes of viewgate.v1 and what a client does about each. The same table stands in gateway/protocol.hpp; a test
// compares the two.

/** What to do after a close. `after_refresh`: ask the token provider first (this client does so before every connect). */
export type Retry = 'at_once' | 'later' | 'after_refresh' | 'never';

export interface CloseCode {
  readonly code: number;
  readonly name: string;
  readonly retry: Retry;
}

export const closeCodes: readonly CloseCode[] = [
  { code: 1001, name: 'going_away', retry: 'at_once' },
  { code: 1002, name: 'protocol_error', retry: 'never' },
  { code: 1003, name: 'unsupported_data', retry: 'never' },
  { code: 1007, name: 'invalid_payload', retry: 'never' },
  { code: 1008, name: 'policy_violation', retry: 'later' },
  { code: 1009, name: 'message_too_big', retry: 'never' },
  { code: 1011, name: 'internal_error', retry: 'later' },
  { code: 1012, name: 'service_restart', retry: 'later' },
  { code: 1013, name: 'try_again_later', retry: 'later' },
  { code: 4000, name: 'bad_message', retry: 'never' },
  { code: 4001, name: 'auth_required', retry: 'after_refresh' },
  { code: 4003, name: 'forbidden', retry: 'never' },
  { code: 4004, name: 'auth_expired', retry: 'after_refresh' },
  { code: 4005, name: 'revoked', retry: 'never' },
  { code: 4008, name: 'slow_reader', retry: 'later' },
  { code: 4010, name: 'version_unsupported', retry: 'never' },
  { code: 4029, name: 'rate_limited', retry: 'later' },
];

const byCode = new Map(closeCodes.map((entry) => [entry.code, entry]));

/** A code outside the table (1006: the link broke without a close frame) is retried later: a network is not a decision. */
export function closeCode(code: number): CloseCode {
  return byCode.get(code) ?? { code, name: code === 1006 ? 'connection_lost' : 'closed', retry: 'later' };
}
