// Goal: the five minutes of docs/client.md are true: what stands there, as it stands there, shows the view. Method: the two programs are
// cut out of the document, the plain page is opened, the other is checked by TypeScript and built by Vite with the packages as npm packs
// them; the built gateway and PostgreSQL with pgbench's tables, in Chromium.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../demo/programs.mjs';
import { Stack, viewgate } from '../support/stack.js';

const at = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const bound = { timeout: 60_000 };
const stack = new Stack();
let browser: Browser;
let rows: string[];

/** The first piece of code of that language in the document. */
function codeOf(language: string): string {
  const [, code] = new RegExp('```' + language + '\\n([^]*?)```').exec(readFileSync(at('docs/client.md'), 'utf8')) ?? [];
  if (code === undefined) throw new Error(`docs/client.md has no ${language}`);
  return code.replace(/wss?:\/\/[^/']+/, new URL(stack.socketUrl).origin.replace(/^http/, 'ws'));
}

/** Of both packages, what `npm pack` makes. */
const archives = new Map<string, string>();

async function pack(): Promise<void> {
  for (const [name, source] of [['client', 'client'], ['react', 'client/react']] as const) {
    const packed = await run('npm', ['pack', '--silent', '--offline', '--pack-destination', stack.folder, at(source)]);
    archives.set(name, join(stack.folder, packed.trim().split('\n').pop() ?? ''));
  }
}

/** Installs both packages as somebody else gets them; React is one of those of the tests. */
async function install(folder: string, react: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  for (const [name, archive] of archives) {
    const target = join(modules, '@viewgate', name);
    mkdirSync(target, { recursive: true });
    await run('tar', ['-xzf', archive, '--strip-components=1', '-C', target]);
    expect(readFileSync(join(target, 'LICENSE'), 'utf8')).toBe(readFileSync(at('LICENSE'), 'utf8'));
    expect(readFileSync(join(target, 'README.md'), 'utf8')).toContain(`# @viewgate/${name}`);
  }
  mkdirSync(join(modules, '@types'));
  for (const name of ['react', 'react-dom', '@types/react', '@types/react-dom']) {
    symlinkSync(join(at(`tests/client/${react}node_modules`), name), join(modules, name));
  }
}

/** What a program says, without holding up the test runner, which has to answer its own parent meanwhile. */
function outputOf(program: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (data: string) => (output += data));
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}

/** By the command that stands there, with the key of this gateway. */
async function mint(): Promise<string> {
  const [, line = ''] = /`viewgate (token [^`]*)`/.exec(readFileSync(at('docs/client.md'), 'utf8')) ?? [];
  const args = line.replace('--embedded DIR', `--auth-key-file ${stack.keyFile}`).split(' ');
  return (await run(viewgate, args, { env: stack.environment })).trim();
}

/** A page of the page server's origin, where `/token` is that of a teller. */
async function blank(): Promise<Page> {
  const page = await browser.newPage();
  const token = await mint();
  await page.route('**/token', (route) => route.fulfill({ contentType: 'text/plain', body: token }));
  await page.goto(`${stack.page}config`);
  return page;
}

async function showsRows(page: Page, selector: string): Promise<void> {
  await page.waitForFunction(([list, count]) => document.querySelectorAll(list as string).length === count, [selector, rows.length] as const, bound);
  const shown = await page.locator(selector).allTextContents();
  expect(shown.sort()).toEqual([...rows].sort());
}

beforeAll(async () => {
  await stack.start();
  // Few enough to be looked at: pgbench's tables begin at zero.
  await stack.query(`update pgbench_accounts set bid = 3, abalance = -aid where aid <= 20`);
  await stack.settledHead('3');
  rows = await stack.query(`select aid || ': ' || abalance from pgbench_accounts where bid = 3 and abalance < 0`);
  browser = await stack.openBrowser();
  await pack();
  // Both packages are built for it, from the start.
}, 600_000);

afterAll(() => stack.stop());

describe('the five minutes', () => {
  it('a_plain_page_without_a_bundler_shows_the_view', async () => {
    const page = await blank();
    await page.setContent(codeOf('html'));
    await showsRows(page, '#list li');
  });

  it.each([
    ['18', ''],
    ['19', 'react19/'],
  ])('vite_and_react_%s_show_the_view', async (version, react) => {
    const folder = mkdtempSync(join(tmpdir(), 'viewgate-start-'));
    try {
      const look = `import { version } from 'react'; document.title = version;\n`;
      writeFileSync(join(folder, 'main.tsx'), look + codeOf('tsx'));
      await install(folder, react);
      const types = ['--strict', '--noEmit', '--jsx', 'react-jsx', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'];
      const tsc = at('tests/client/node_modules/.bin/tsc');
      expect(await outputOf(tsc, [...types, '--types', 'react', 'main.tsx'], folder)).toBe('');
      const lib = { entry: join(folder, 'main.tsx'), formats: ['iife' as const], name: 'start', fileName: () => 'start.js' };
      await build({
        root: folder,
        configFile: false,
        logLevel: 'error',
        define: { 'process.env.NODE_ENV': '"production"' },
        mode: 'production',
        esbuild: { jsx: 'automatic', jsxDev: false },
        build: { lib, outDir: join(folder, 'out') },
      });
      const page = await blank();
      await page.setContent('<!doctype html><div id="root"></div>');
      await page.addScriptTag({ content: readFileSync(join(folder, 'out/start.js'), 'utf8') });
      await showsRows(page, '#root li');
      await page.locator('#root ul[aria-busy="false"]').waitFor(bound);
      expect((await page.title()).split('.')[0]).toBe(version);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
