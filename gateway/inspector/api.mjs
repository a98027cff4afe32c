// Asks the operators' port. The key is kept for as long as this tab is open and is sent in a header, never in an address.

const keyName = 'viewgate operators key';

/** What the port answered instead of what was asked for; status 0: it could not be reached. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function hasKey() {
  return sessionStorage.getItem(keyName) !== null;
}

/** @param {string} key */
export function keepKey(key) {
  sessionStorage.setItem(keyName, key);
}

export function dropKey() {
  sessionStorage.removeItem(keyName);
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * @param {string} path as `inspect/overview`
 * @param {Record<string, string | number | undefined>} [items] what is empty is not sent
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function ask(path, items = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(items)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const target = `v1/${path}${query.size > 0 ? `?${query.toString().replaceAll('+', '%20')}` : ''}`;
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(keyName) ?? ''}` };
  let response;
  let text;
  try {
    response = await fetch(target, { headers, signal: signal ?? null, credentials: 'omit' });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, 'unreachable', 'The operators’ port of this node does not answer.');
  }
  const answer = parsed(text);
  if (response.ok && answer !== undefined) return answer;
  throw new Refused(response.status, answer?.error ?? 'unknown', answer?.message ?? `It answered ${response.status}.`);
}
