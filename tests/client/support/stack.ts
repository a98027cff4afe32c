// The real thing for the browser's test: a PostgreSQL cluster of its own, the gateway's program, pgbench's tables, the demo's
// page server and Chromium. PostgreSQL stands apart from the gateway, so that one can be killed without the other.

import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser } from 'playwright-core';
import { end, postgresPrograms, run, sql } from '../../../demo/programs.mjs';
import { eventually } from './fake_server.js';

const top = fileURLToPath(new URL('../../../', import.meta.url));
export const viewgate = process.env['VIEWGATE_BIN'] ?? join(top, 'build/debug/bin/viewgate');
const demo = (name: string): string => join(top, 'demo', name);

/** Our own variables are not settings of the gateway, which refuses what it does not know. */
function environment(): NodeJS.ProcessEnv {
  const out = { ...process.env };
  for (const name of ['VIEWGATE_BIN', 'VIEWGATE_SEED', 'VIEWGATE_SCREENSHOTS']) delete out[name];
  return out;
}

/** PostgreSQL refuses root: there its programs run as the user `postgres`. */
function asPostgres(program: string, args: string[]): [string, string[]] {
  const isRoot = process.getuid?.() === 0;
  return isRoot ? ['runuser', ['-u', 'postgres', '--', program, ...args]] : [program, args];
}

export class Stack {
  readonly folder = mkdtempSync(join(tmpdir(), 'viewgate-page-'));
  readonly keyFile = join(this.folder, 'key');
  readonly operatorsKey = 'the-key-of-the-operators-of-this-test';
  readonly database = `host='${join(this.folder, 'db')}' port=5432 user=postgres dbname=postgres`;
  page = '';
  /** The operators' page. */
  inspector = '';
  /** Of the next gateway. */
  readonly moreFlags: string[] = [];
  private gatewayAddress = '127.0.0.1:0';
  private operatorsAddress = '127.0.0.1:0';
  private gateway: ChildProcess | undefined;
  private gatewayLog = '';
  private pages: ChildProcess | undefined;
  private browser: Browser | undefined;
  private isClusterUp = false;

  async start(): Promise<void> {
    if (!existsSync(viewgate)) throw new Error(`${viewgate} is not built; VIEWGATE_BIN names another`);
    await this.startCluster();
    await run(process.execPath, [demo('prepare.mjs'), '--database', this.database, '--scale', '1']);
    await this.applyModel(demo('model.sql'));
    writeFileSync(this.keyFile, 'a secret of this test, longer than thirty-two bytes', { mode: 0o600 });
    writeFileSync(join(this.folder, 'operators'), this.operatorsKey, { mode: 0o600 });
    await this.startPages();
    await this.startGateway();
  }

  /** From now on this model, which is another one, is in force, also at the gateway where it runs. */
  async applyModel(file: string): Promise<void> {
    const taken = (): number => this.gatewayLog.split(' model_in_force ').length;
    const before = taken();
    await run(viewgate, ['model', 'apply', file, '--database', this.database], { env: environment() });
    if (this.gateway !== undefined) await eventually('the gateway takes the model', () => taken() > before);
  }

  async openBrowser(): Promise<Browser> {
    this.browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    return this.browser;
  }

  async stop(): Promise<void> {
    await this.browser?.close();
    for (const child of [this.pages, this.gateway]) if (child !== undefined) await end(child);
    if (this.isClusterUp) await this.pgCtl(['-m', 'immediate', 'stop']);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** As a crash: nothing is said to anybody. */
  async killGateway(): Promise<void> {
    if (this.gateway !== undefined) await end(this.gateway, 'SIGKILL');
  }

  /** As a deploy: clients are told when to come back. */
  async drainGateway(): Promise<void> {
    if (this.gateway !== undefined) await end(this.gateway, 'SIGTERM');
  }

  get socketUrl(): string {
    return `ws://${this.gatewayAddress}/v1/socket`;
  }

  /** A development token; `digit` is the claim of the demo's tellers. */
  async token(subject: string, digit: string, life = '10m'): Promise<string> {
    const flags = ['--auth-key-file', this.keyFile, '--sub', subject, '--claim', `digit=${digit}`, '--ttl', life];
    return (await run(viewgate, ['token', ...flags], { env: environment() })).trim();
  }

  /** Of one of the people of the board. */
  async personToken(person: string, role: string, life = '10m'): Promise<string> {
    const flags = ['--auth-key-file', this.keyFile, '--sub', person, '--claim', `role=${role}`, '--ttl', life];
    return (await run(viewgate, ['token', ...flags], { env: environment() })).trim();
  }

  /** A shell command that prints a token, for programs that are not ours. */
  tokenCommand(subject: string, digit: string): string {
    return `${viewgate} token --auth-key-file ${this.keyFile} --sub ${subject} --claim digit=${digit} --ttl 10m`;
  }

  readonly environment = environment();

  /** At the address of the first time: a page knows no other. */
  /** On the ports that it had, which somebody else's connection may have taken for a moment. */
  async startGateway(): Promise<void> {
    for (const end = Date.now() + 10_000; ; ) {
      try {
        return await this.serve();
      } catch (error) {
        if (!String(error).includes('in use') || Date.now() > end) throw error;
      }
      await new Promise((next) => setTimeout(next, 100));
    }
  }

  private async serve(): Promise<void> {
    const readyFile = join(this.folder, 'ready');
    rmSync(readyFile, { force: true });
    const flags = ['--database', this.database, '--listen', this.gatewayAddress, '--ready-file', readyFile];
    flags.push('--auth-key-file', this.keyFile, '--origins', new URL(this.page).origin, '--time-drain', '500ms');
    flags.push('--admin-listen', this.operatorsAddress, '--admin-key-file', join(this.folder, 'operators'));
    const gateway = spawn(viewgate, ['serve', ...flags, ...this.moreFlags], { env: environment(), stdio: ['ignore', 'ignore', 'pipe'] });
    this.gatewayLog = '';
    gateway.stderr.on('data', (data: Buffer) => (this.gatewayLog += String(data)));
    this.gateway = gateway;
    const listens = (): boolean => existsSync(readyFile) && readFileSync(readyFile, 'utf8').includes(':');
    await eventually('the gateway listens', () => {
      if (gateway.exitCode !== null) throw new Error(`viewgate serve ended with ${gateway.exitCode}: ${this.gatewayLog}`);
      return listens();
    });
    this.gatewayAddress = readFileSync(readyFile, 'utf8').trim();
    const adminPort = /admin_listening.*port=(\d+)/.exec(this.gatewayLog)?.[1];
    this.operatorsAddress = `127.0.0.1:${adminPort}`;
    this.inspector = `http://${this.operatorsAddress}/inspector`;
  }

  /** Rows of one SQL statement, each as its unaligned text. */
  async query(text: string): Promise<string[]> {
    const rows: string = await sql(this.database, text);
    return rows.split('\n').filter((row) => row !== '');
  }

  /** The newest commit of a space, when nothing waits for its number any more. */
  async settledHead(space: string): Promise<string> {
    const waiting = `select count(*) from viewgate.waiting where space = '${space}'`;
    await eventually('all changes have their numbers', async () => (await this.query(waiting))[0] === '0');
    return (await this.query(`select viewgate.watermark('${space}')`))[0] ?? '';
  }

  private async startCluster(): Promise<void> {
    // The cluster's user has to get in, and nobody else has business there.
    chmodSync(this.folder, 0o711);
    const cluster = join(this.folder, 'db');
    const install = process.getuid?.() === 0 ? ['-o', 'postgres', '-g', 'postgres'] : [];
    await run('install', ['-d', '-m', '700', ...install, cluster]);
    const data = join(cluster, 'data');
    const [initdb, initdbArgs] = asPostgres(join(postgresPrograms(), 'initdb'), [
      '-D',
      data,
      '-U',
      'postgres',
      '--auth=trust',
      '--no-sync',
      '-E',
      'UTF8',
    ]);
    await run(initdb, initdbArgs);
    const settings = `-c listen_addresses= -c unix_socket_directories=${cluster} -c max_connections=60`;
    await this.pgCtl(['-w', '-l', join(cluster, 'log'), '-o', settings, 'start']);
    this.isClusterUp = true;
  }

  private async pgCtl(args: string[]): Promise<void> {
    const [program, all] = asPostgres(join(postgresPrograms(), 'pg_ctl'), ['-D', join(this.folder, 'db/data'), ...args]);
    await run(program, all);
  }

  private async startPages(): Promise<void> {
    const args = [demo('server.mjs'), '--viewgate', viewgate, '--database', this.database, '--key-file', this.keyFile];
    const pages = spawn(process.execPath, [...args, '--gateway-file', join(this.folder, 'ready'), '--port', '0'], {
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    pages.stdout.on('data', (data: Buffer) => (said += String(data)));
    this.pages = pages;
    await eventually('the page server listens', () => said.includes('listening at'));
    this.page = /http:\S+/.exec(said)?.[0] ?? '';
  }
}
