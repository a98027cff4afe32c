// A page whose client lives in a worker, with its storage: the page sees only what the worker tells.

export type WorkerKind = 'Worker' | 'SharedWorker';

/** What the worker told last. */
export interface Told {
  status: string;
  sequence: string;
  commits: number;
  lines: string[];
  errors: string[];
}

export interface WorkerPage {
  readonly told: Told;
  /** Asks for all that the worker holds, with the commit at which it does. */
  ask(): void;
}

/** A worker of the origin from which the page is; its module has no address of its own. */
function workerScript(origin: string): string {
  return `
import { connect, indexedDbStorage } from '${origin}client/index.js';

const ports = [];
const told = { status: '', sequence: '0', commits: 0, lines: [], errors: [] };
const tell = () => ports.forEach((port) => port.postMessage(told));
const { gateway } = await (await fetch('${origin}config')).json();
const storage = await indexedDbStorage({ principal: 'teller-3', onError: (error) => told.errors.push(String(error)) });
const token = async () => (await fetch('${origin}token?digit=3')).text();
const client = connect({ url: gateway, token, store: storage.store });
const view = client.subscribe('watch', { space: '1', params: { low: -1e9, high: 1e9 } });
const look = () => {
  told.status = view.status;
  told.sequence = view.sequence;
  tell();
};
client.onError(({ code, message }) => told.errors.push(code + ': ' + message));
view.onState(look);
view.subscribe(({ kind }) => {
  if (kind === 'commit') told.commits++;
  look();
});
const serve = (port) => {
  ports.push(port);
  port.onmessage = () => {
    told.lines = [...view.items()].map((item) => item.key + '|' + item.text);
    look();
    told.lines = [];
  };
  look();
};
if ('onconnect' in self) waiting.then(serve); else serve(self);
`;
}

export function workerPage(origin: string, kind: WorkerKind): string {
  // A shared worker's first port comes before its module has read what it waits for.
  const early = kind === 'SharedWorker' ? 'const waiting = new Promise((come) => (self.onconnect = ({ ports }) => come(ports[0])));' : '';
  const script = JSON.stringify(early + workerScript(origin)).replace(/</g, '\\u003c');
  return `<!doctype html>
<meta charset="utf-8"><title>Worker</title><link rel="icon" href="data:,">
<script type="module">
const address = URL.createObjectURL(new Blob([${script}], { type: 'text/javascript' }));
const worker = new ${kind}(address, { type: 'module' });
const port = worker.port ?? worker;
globalThis.inWorker = { told: { status: '', sequence: '0', commits: 0, lines: [], errors: [] }, ask: () => port.postMessage('lines') };
worker.onerror = ({ message }) => globalThis.inWorker.told.errors.push(message ?? 'the worker cannot be loaded');
port.onmessage = ({ data }) => {
  const { lines } = data;
  globalThis.inWorker.told = { ...data, lines: lines.length > 0 ? lines : globalThis.inWorker.told.lines };
};
</script>
`;
}
