// Puts the first cards on an empty board, as anybody could: mutations through the SDK.

import { randomUUID } from 'node:crypto';
import { connect, writer } from '../client/dist/index.js';
import { NodeWebSocket } from './web_socket.mjs';

const day = 24 * 60 * 60 * 1000;

/** list, title, note, assignee, priority, due in days */
const cards = [
  ['backlog', 'Record a two-minute tour', null, null, 2, 12],
  ['backlog', 'Ask five users what they missed', 'Not what they liked.', 'chloe', 2, 9],
  ['backlog', 'Dark screenshots for the site', null, null, 3, null],
  ['backlog', 'Check every empty state', null, 'dan', 3, 14],
  ['doing', 'Price page', 'Three plans, one sentence each.', 'ben', 1, 2],
  ['doing', 'Import from a spreadsheet', 'Files of 10,000 rows have to stay smooth.', 'chloe', 1, 4],
  ['doing', 'Status page', null, 'dan', 2, 5],
  ['doing', 'Words for the launch mail', null, 'ada', 2, 3],
  ['review', 'Sign-in with a passkey', null, 'dan', 1, 1],
  ['review', 'Keyboard use of the board', 'Alt and an arrow key moves a card.', 'ben', 2, 3],
  ['done', 'Back-ups that were restored once', 'Measured: eleven minutes.', 'ada', 1, -2],
  ['done', 'Load test with 5,000 people', null, 'chloe', 1, -4],
  ['done', 'Choose a name', null, null, 3, -20],
];

const patience = 20_000;

/** Resolves when there are cards. `token`: of somebody who sees and may add all of them. */
export async function seedBoard({ url, token }) {
  const client = connect({ url, token, WebSocket: NodeWebSocket });
  const write = writer(client);
  let timer;
  const tooLong = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('the first cards were not taken in time')), patience);
  });
  try {
    await Promise.race([fill(client, write), tooLong]);
  } finally {
    clearTimeout(timer);
    client.close();
  }
}

async function fill(client, write) {
  const view = client.subscribe('board', { space: 'launch' });
  await view.whenReady();
  if (view.size > 0) return;
  const mutations = cards.map(([list, title, note, assignee, priority, inDays], place) => {
    const due = inDays === null ? null : new Date(Date.now() + inDays * day).toISOString().slice(0, 10);
    return { kind: 'create', collection: 'cards', key: [randomUUID()], record: { list, title, note, assignee, priority, due, place } };
  });
  await write.mutate('launch', mutations, { requestId: 'first-cards' });
}
