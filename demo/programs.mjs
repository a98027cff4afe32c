// Finding and running other programs: PostgreSQL's own, and viewgate.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The folder that holds PostgreSQL's programs: as named, the newest of Debian's, else wherever PATH has pgbench. */
export function postgresPrograms() {
  const named = process.env.VIEWGATE_POSTGRES_BIN;
  if (named !== undefined && named !== '') return named;
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(debian, version, 'bin')), ...(process.env.PATH ?? '').split(delimiter)];
  const found = folders.find((folder) => existsSync(join(folder, 'pgbench')) && existsSync(join(folder, 'psql')));
  if (found === undefined) throw new Error('pgbench and psql were not found: install postgresql, or set VIEWGATE_POSTGRES_BIN');
  return found;
}

/** Runs a program to its end; resolves with its output, rejects with what it said last. `onLine` sees its progress. */
export function run(program, args, { onLine = (_line) => {}, input = '', env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    let said = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => {
      said = (said + data).slice(-4000);
      for (const line of String(data).split(/[\r\n]+/)) if (line.trim() !== '') onLine(line.trim());
    });
    child.on('error', reject);
    child.stdin.on('error', () => {}); // it ended before it read; its exit status says why
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(output);
      const last = said.trim().split('\n').pop() ?? '';
      return reject(new Error(`${program} ended with ${code ?? signal}: ${last}`));
    });
    child.stdin.end(input);
  });
}

/** One SQL text; resolves with the rows as unaligned text. */
export function sql(database, text) {
  const flags = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', database, '-f', '-'];
  return run(join(postgresPrograms(), 'psql'), flags, { input: text });
}

/** Ends a child: asks, and after a while insists. Resolves when it is gone. */
export function end(child, signal = 'SIGTERM', patience = 15_000) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const insist = setTimeout(() => child.kill('SIGKILL'), patience);
    child.once('exit', () => {
      clearTimeout(insist);
      resolve();
    });
    child.kill(signal);
  });
}

/** `--name value` pairs and what stands alone. */
export function parseArguments(args) {
  const options = {};
  const rest = [];
  for (let i = 0; i < args.length; ++i) {
    const arg = args[i];
    if (!arg.startsWith('--')) {
      rest.push(arg);
      continue;
    }
    const [name, inline] = arg.slice(2).split(/=(.*)/s);
    const value = inline ?? args[++i];
    if (value === undefined) throw new Error(`--${name} needs a value`);
    options[name] = value;
  }
  return { options, rest };
}
