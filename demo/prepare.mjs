// Makes pgbench's tables where they are missing, with balances at random from -5000 to 5000, so that touched accounts cross
// zero. `node demo/prepare.mjs --database CONNECTION [--scale 10]`; what is there already stays as it is.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArguments, postgresPrograms, run, sql } from './programs.mjs';

/** The primary key comes last, so a table with one was prepared whole. */
const isPrepared = `
  select exists (select from pg_constraint where conrelid = to_regclass('public.pgbench_accounts') and contype = 'p')`;

const randomBalances = `
  update pgbench_accounts set abalance = floor(random() * 10001)::int - 5000`;

/** `onProgress(text, again)`: `again` where the text only moves the last one on. Resolves with whether there was work. */
export async function prepare(database, scale, onProgress) {
  if ((await sql(database, isPrepared)).trim() === 't') return false;
  const pgbench = join(postgresPrograms(), 'pgbench');
  const step = (steps, onLine) => run(pgbench, ['-i', '-I', steps, '-s', String(scale), database], { onLine });

  const name = `pgbench tables of scale ${scale}: ${(scale * 100_000).toLocaleString('en')} accounts`;
  onProgress(name, false);
  await step('dtg', (line) => {
    const share = /\((\d+)%\) (?:done|of)/.exec(line)?.[1];
    if (share !== undefined) onProgress(`${name} … ${share} %`, true);
  });
  onProgress('balances at random from -5000 to 5000', false);
  await sql(database, randomBalances);
  onProgress('primary keys and statistics', false);
  await step('vp');
  return true;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { options } = parseArguments(process.argv.slice(2));
  if (options.database === undefined) throw new Error('prepare.mjs needs --database CONNECTION');
  const said = (text, again) => {
    if (!again) process.stderr.write(`${text}\n`);
  };
  const worked = await prepare(options.database, Number(options.scale ?? 10), said);
  process.stderr.write(worked ? 'prepared\n' : 'pgbench tables are there already\n');
}
