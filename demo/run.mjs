// Everything of the demo, in order: page server, gateway with its private PostgreSQL, pgbench's tables, the model. Prints the
// address of the page; Ctrl-C stops all of it.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepare } from './prepare.mjs';
import { end, parseArguments, run } from './programs.mjs';
import { seedBoard } from './seed.mjs';
import { startServer } from './server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { options, rest } = parseArguments(process.argv.slice(2));
const [viewgate, folder] = rest;
if (viewgate === undefined || folder === undefined) {
  process.stderr.write('demo/run.sh VIEWGATE DIR [--scale 10] [--port 8090]\n');
  process.exit(2);
}
const directory = resolve(folder);
const readyFile = join(directory, 'ready');
const started = Date.now();

let gateway;
let server;
let address;
let isStopping = false;
/** The one whose end is wanted. */
let killed;
/** Under way: the end of one gateway and the start of the next. */
let killing;
/** Where the gateway listens: chosen by the system the first time, the same from then on, since pages know no other. */
let listens = '127.0.0.1:0';

/** One line per step; a step that moves on rewrites its line on a terminal and is silent elsewhere. */
function say(text, again = false) {
  const time = `${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  `;
  if (!again) process.stderr.write(`${time}${text}\n`);
  else if (process.stderr.isTTY) process.stderr.write(`\x1b[1A\x1b[2K${time}${text}\n`);
}

async function stop(status) {
  if (isStopping) return;
  isStopping = true;
  await server?.stop();
  if (gateway !== undefined) await end(gateway);
  process.exit(status);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void stop(0));

async function startPages() {
  const wanted = Number(options.port ?? 8090);
  const start = (port) =>
    startServer({
      gateway: () => address,
      viewgate,
      database: embeddedDatabase,
      keyFlags: ['--embedded', directory],
      kill: killGateway,
      port,
    });
  try {
    return await start(wanted);
  } catch (error) {
    if (error.code !== 'EADDRINUSE' || options.port !== undefined) throw error;
    return start(0);
  }
}

/** What `viewgate serve --embedded` runs: no TCP, and one socket, whose folder PostgreSQL writes beside its process id. */
function embeddedDatabase() {
  const socket = readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[4];
  if (!socket) throw new Error('PostgreSQL is still on its way up');
  return `host='${socket}' port=5432 user=postgres dbname=viewgate`;
}

async function startGateway(origin) {
  rmSync(readyFile, { force: true });
  const flags = ['--embedded', directory, '--listen', listens, '--ready-file', readyFile, '--origins', origin];
  flags.push('--time-drain', '1s');
  const child = spawn(viewgate, ['serve', ...flags], { stdio: ['ignore', 'inherit', 'inherit'] });
  gateway = child;
  child.once('error', (error) => {
    process.stderr.write(`${viewgate}: ${error.message}\n`);
    void stop(1);
  });
  child.once('exit', (code, signal) => {
    if (isStopping || child === killed) return;
    process.stderr.write(`the gateway ended with ${code ?? signal}\n`);
    void stop(1);
  });
  while (!(existsSync(readyFile) && readFileSync(readyFile, 'utf8').includes(':'))) {
    // Also where it ended by itself: its exit stops everything.
    if (isStopping) throw new Error('the demo is stopping');
    await new Promise((next) => setTimeout(next, 50));
  }
  listens = readFileSync(readyFile, 'utf8').trim();
}

/**
 * As a crash: nobody is told anything. PostgreSQL goes down with it, and comes back with the next one. Whoever asks while that is under
 * way waits for the same one.
 */
function killGateway() {
  killing ??= replaceGateway().finally(() => (killing = undefined));
  return killing;
}

async function replaceGateway() {
  // Until the first one listens there is nothing to replace.
  if (isStopping || address === undefined) throw new Error('the gateway is not up');
  killed = gateway;
  await end(gateway, 'SIGKILL');
  await startGateway(new URL(server.url).origin);
}

try {
  mkdirSync(directory, { recursive: true });
  server = await startPages();
  say('a private PostgreSQL and the gateway');
  await startGateway(new URL(server.url).origin);
  await prepare(embeddedDatabase(), Number(options.scale ?? 10), say);
  say('the model');
  await run(viewgate, ['model', 'apply', join(here, 'model.sql'), '--database', embeddedDatabase()]);
  // The history that returning clients need is kept, not all there ever was: the demo must not fill a disk.
  await run(viewgate, ['retention', 'set', '--commits', '20000', '--database', embeddedDatabase()]);
  address = `ws://${listens}/v1/socket`;
  const token = (...flags) => run(viewgate, ['token', '--embedded', directory, ...flags]).then((text) => text.trim());
  await seedBoard({ url: address, token: () => token('--sub', 'ada', '--claim', 'role=lead') }).catch((error) => say(error.message));
  await server.pgbench.setRate(10);
  say('ready; Ctrl-C stops everything');
  process.stdout.write(`\nthe board is at ${server.url}board\npgbench is live at ${server.url}\n`);
} catch (error) {
  if (!isStopping) process.stderr.write(`${error.message}\n`);
  await stop(1);
}
