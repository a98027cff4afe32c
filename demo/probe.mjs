// node demo/probe.mjs http://127.0.0.1:8090/: opens the views of the page with the SDK, as the page does, and waits until
// records and commits have come. Exits 0 then, else 1 after a minute.

import { connect } from '../client/dist/index.js';
import { NodeWebSocket } from './web_socket.mjs';

const page = process.argv[2];
if (page === undefined) {
  process.stderr.write('node demo/probe.mjs http://127.0.0.1:8090/\n');
  process.exit(2);
}

const bound = 60_000;
const wanted = 3;

async function get(path) {
  const answer = await fetch(new URL(path, page));
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

async function gatewayAddress() {
  for (;;) {
    const { gateway } = await (await get('/config')).json();
    if (gateway !== null) return gateway;
    await new Promise((next) => setTimeout(next, 200));
  }
}

const giveUp = setTimeout(() => {
  process.stderr.write('no records and commits within a minute\n');
  process.exit(1);
}, bound);

const client = connect({
  url: await gatewayAddress(),
  token: async () => (await get('/token?digit=3')).text(),
  WebSocket: NodeWebSocket,
});
client.onError((error) => process.stderr.write(`${error.code}: ${error.message}\n`));

const overdrawn = client.subscribe('overdrawn', { space: '1' });
const watch = client.subscribe('watch', { space: '1', params: { low: -1000, high: 1000 } });
await Promise.all([overdrawn.whenReady(), watch.whenReady()]);
process.stdout.write(`overdrawn: ${overdrawn.size} records at ${overdrawn.sequence}; watch: ${watch.size} records\n`);

let commits = 0;
await new Promise((resolve) => {
  overdrawn.subscribe((change) => {
    process.stdout.write(`commit ${change.sequence}: ${change.entered.length} entered, ${change.updated.length} changed, `);
    process.stdout.write(`${change.left.length} left\n`);
    if (++commits === wanted) resolve();
  });
});
clearTimeout(giveUp);
client.close();
process.exit(overdrawn.size > 0 && watch.size > 0 ? 0 : 1);
