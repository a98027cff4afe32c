// The close codes of viewgate.v1 and what a client does about each. The same table stands in gateway/protocol.hpp; a test
// compares the two.

/** What the table calls `never`. */
export function isFinal(code: number): boolean {
  return /100[2379]|40(0[035]|10)/.test(`${code}`);
}

/**
 * `at_once` and `after_refresh`: the token provider is asked before every connect. Any other code is `later`, also one outside the table
 * (1006: the link broke without a close frame): a network is not a decision.
 */
export function isSoon(code: number): boolean {
  return /1001|400[14]/.test(`${code}`);
}

/** What people call a close code. */
export function closeName(code: number): string {
  return names[code] ?? 'closed';
}

/** This client's own: the server was not heard for two heartbeats. */
export const silent = 3000;

const names: { readonly [code: number]: string } = {
  1001: 'going_away',
  1002: 'protocol_error',
  1003: 'unsupported_data',
  1006: 'connection_lost',
  1007: 'invalid_payload',
  1008: 'policy_violation',
  1009: 'message_too_big',
  1011: 'internal_error',
  1012: 'service_restart',
  1013: 'try_again_later',
  3000: 'silence',
  4000: 'bad_message',
  4001: 'auth_required',
  4003: 'forbidden',
  4004: 'auth_expired',
  4005: 'revoked',
  4008: 'slow_reader',
  4010: 'version_unsupported',
  4029: 'rate_limited',
};
