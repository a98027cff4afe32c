// The writer of the demo: PostgreSQL's own pgbench, as it comes, at a rate that the page chooses.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { end, postgresPrograms } from './programs.mjs';

const day = 24 * 60 * 60;
const pauseAfterFailure = 1_000;

export class Pgbench {
  #database;
  #clients;
  #rate = 0;
  #child;
  #restart;
  #changing = Promise.resolve();
  /** Why it does not run although it should. */
  failure;

  /** `database`: gives the connection string when it is needed. */
  constructor(database, clients = 8) {
    this.#database = database;
    this.#clients = clients;
  }

  /** Transactions per second; 0: stopped, Infinity: as fast as it can. */
  get rate() {
    return this.#rate;
  }

  get isRunning() {
    return this.#child !== undefined;
  }

  /** One change after the other; resolves when the new rate is in force, or `failure` says why it is not yet. */
  setRate(rate) {
    this.#changing = this.#changing.then(async () => {
      if (rate === this.#rate && (rate === 0 || this.isRunning)) return;
      this.#rate = rate;
      await this.#stop();
      this.failure = undefined;
      if (rate > 0) this.#start();
    });
    return this.#changing;
  }

  #start() {
    const limit = this.#rate === Infinity ? [] : ['-R', String(this.#rate)];
    let program;
    let database;
    try {
      program = join(postgresPrograms(), 'pgbench');
      database = this.#database();
    } catch (error) {
      // PostgreSQL is on its way up, or away for a moment.
      return this.#startLater(error.message);
    }
    // -n: no vacuum, which would wait for others. Nothing else of it is changed.
    const args = ['-n', '-c', String(this.#clients), '-j', '1', ...limit, '-T', String(day), database];
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (data) => (said = (said + data).slice(-2000)));
    child.on('error', (error) => (said = error.message));
    child.on('close', () => {
      if (this.#child !== child) return;
      // It was not asked to end: the database went away, or its day is over. It comes back by itself.
      this.#child = undefined;
      this.#startLater(said.trim().split('\n').pop() ?? '');
    });
    child.on('spawn', () => (this.failure = undefined));
    this.#child = child;
    return undefined;
  }

  #startLater(failure) {
    this.failure = failure;
    this.#restart = setTimeout(() => this.#start(), pauseAfterFailure);
  }

  #stop() {
    clearTimeout(this.#restart);
    const child = this.#child;
    this.#child = undefined;
    return child === undefined ? Promise.resolve() : end(child, 'SIGTERM', 3_000);
  }
}
