// Serves the demo page on the loopback: its files and the SDK's, development tokens, and the rate of pgbench.
//
//   node demo/server.mjs --viewgate PROGRAM --database CONNECTION [--port 8090]
//                        (--gateway ws://127.0.0.1:8080/v1/socket | --gateway-file FILE: its --ready-file)
//                        (--embedded DIR | --key-file FILE)

import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Pgbench } from './pgbench.mjs';
import { parseArguments, run } from './programs.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const modules = /^\/(client|demo)\/((?:board\/)?[a-z_]+\.js(?:\.map)?)$/;
const folders = { client: join(here, '../client/dist'), demo: join(here, 'dist') };
const types = { html: 'text/html', css: 'text/css', js: 'text/javascript', map: 'application/json', svg: 'image/svg+xml' };
const pages = {
  '/': 'index.html',
  '/style.css': 'style.css',
  '/icon.svg': 'icon.svg',
  '/board': 'board/index.html',
  '/board/board.css': 'board/board.css',
};
/** Who may sign in at the board, and what they are there. */
const people = { ada: 'lead', ben: 'member', chloe: 'member', dan: 'member' };

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * `gateway` and `database` are functions: the address of the gateway's socket once there is one, and the connection string.
 * `kill` ends the gateway as a crash would and resolves when another one listens; absent: the page cannot.
 * Resolves with the server's address and a function that ends it and its children.
 */
export async function startServer({ gateway, viewgate, database, keyFlags, kill, port = 0, host = '127.0.0.1' }) {
  const pgbench = new Pgbench(database);
  const server = createServer((request, response) => {
    handle(request, { gateway, viewgate, keyFlags, kill, pgbench }).then(
      ({ type = 'application/json', body }) => {
        response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' });
        response.end(body);
      },
      (error) => {
        response.writeHead(error.status ?? 500, { 'content-type': 'text/plain; charset=utf-8' });
        response.end(`${error.message}\n`);
      },
    );
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const url = `http://${host}:${server.address().port}/`;
  const stop = async () => {
    server.close();
    server.closeAllConnections?.();
    await pgbench.setRate(0);
  };
  return { url, stop, pgbench };
}

async function handle(request, context) {
  const url = new URL(request.url, 'http://demo');
  // A page of another site that a browser was led to must not reach this one under its own name.
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(request.headers.host ?? '')) {
    throw new Refused(421, 'this server answers to loopback names only');
  }
  if (request.method === 'POST' && url.pathname === '/rate') return setRate(request, context.pgbench);
  if (request.method === 'POST' && url.pathname === '/kill') return killNode(request, context);
  if (request.method !== 'GET' && request.method !== 'HEAD') throw new Refused(405, 'GET and HEAD only');
  switch (url.pathname) {
    case '/config':
      return json({ gateway: context.gateway() ?? null });
    case '/rate':
      return rate(context.pgbench);
    case '/token':
      return { type: 'text/plain', body: await token(url.searchParams, context) };
    default:
      return file(url.pathname);
  }
}

function json(value) {
  return { body: JSON.stringify(value) };
}

function rate(pgbench) {
  const value = pgbench.rate === Infinity ? 'full' : pgbench.rate;
  return json({ rate: value, running: pgbench.isRunning, failure: pgbench.failure ?? null });
}

/** Only a page of ours can send JSON here without the browser asking first. */
function requireJson(request) {
  if (request.headers['content-type'] !== 'application/json') throw new Refused(415, 'JSON expected');
}

async function killNode(request, { kill }) {
  requireJson(request);
  request.resume();
  if (kill === undefined) throw new Refused(409, 'this server did not start the gateway, so it does not kill it');
  await kill();
  return json({});
}

async function setRate(request, pgbench) {
  requireJson(request);
  let body = '';
  for await (const chunk of request) {
    body += chunk;
    if (body.length > 1_000) throw new Refused(413, 'too long');
  }
  let wanted;
  try {
    wanted = JSON.parse(body).rate;
  } catch {
    throw new Refused(400, 'not JSON');
  }
  const value = wanted === 'full' ? Infinity : wanted;
  if (typeof value !== 'number' || !(value >= 0) || (value !== Infinity && value > 100_000)) {
    throw new Refused(400, 'rate: a number of transactions per second from 0 to 100000, or "full"');
  }
  await pgbench.setRate(value);
  return rate(pgbench);
}

/** A token for one of the people of the board, or for one of ten tellers, whose accounts' last digit is a claim of theirs. */
async function token(asked, { viewgate, keyFlags }) {
  const person = asked.get('person');
  const digit = asked.get('digit') ?? '0';
  if (person !== null && !Object.hasOwn(people, person)) throw new Refused(400, `person: one of ${Object.keys(people).join(', ')}`);
  if (!/^[0-9]$/.test(digit)) throw new Refused(400, 'digit: 0 to 9');
  const who = person === null ? [`teller-${digit}`, `digit=${digit}`] : [person, `role=${people[person]}`];
  return (await run(viewgate, ['token', ...keyFlags, '--sub', who[0], '--claim', who[1], '--ttl', '10m'])).trim();
}

async function file(path) {
  const [, folder, name] = modules.exec(path) ?? [];
  const found = folder !== undefined ? join(folders[folder], name) : pages[path] && join(here, pages[path]);
  if (found === undefined) throw new Refused(404, 'no such page');
  try {
    return { type: types[found.split('.').pop()], body: await readFile(found) };
  } catch {
    throw new Refused(404, `${path} is not built: run client/build.sh`);
  }
}

/** The address in a gateway's ready file, as soon as it has one. */
export function gatewayIn(readyFile) {
  return () => {
    try {
      const address = readFileSync(readyFile, 'utf8').trim();
      return address.includes(':') ? `ws://${address}/v1/socket` : undefined;
    } catch {
      return undefined;
    }
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { options } = parseArguments(process.argv.slice(2));
  for (const name of ['viewgate', 'database']) {
    if (options[name] === undefined) throw new Error(`server.mjs needs --${name}`);
  }
  const keyFlags = options['key-file'] ? ['--auth-key-file', options['key-file']] : ['--embedded', options.embedded ?? ''];
  const server = await startServer({
    gateway: options['gateway-file'] ? gatewayIn(options['gateway-file']) : () => options.gateway,
    viewgate: options.viewgate,
    database: () => options.database,
    keyFlags,
    port: Number(options.port ?? 8090),
  });
  process.stdout.write(`listening at ${server.url}\n`);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => server.stop().then(() => process.exit(0)));
  }
}
