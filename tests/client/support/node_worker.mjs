// The SDK in a worker thread of Node: it follows one view, counts its commits, and answers with all that it holds.

import { parentPort, workerData } from 'node:worker_threads';
import { WebSocket } from 'ws';
import { connect } from '../../../client/dist/index.js';

const { url, token, wanted } = workerData;
const client = connect({ url, token: () => token, WebSocket });
const view = client.subscribe('watch', wanted);
let commits = 0;
const tell = () => parentPort.postMessage({ status: view.status, sequence: view.sequence, commits });
client.onError(({ code, message }) => parentPort.postMessage({ error: `${code}: ${message}` }));
view.onState(tell);
view.subscribe(({ kind }) => {
  if (kind === 'commit') commits++;
  tell();
});
parentPort.on('message', (asked) => {
  if (asked === 'lines') parentPort.postMessage({ lines: [...view.items()].map(({ key, text }) => `${key}|${text}`) });
  // What keeps a thread alive is its port and the client: when both are closed it ends by itself.
  else {
    client.close();
    parentPort.close();
  }
});
