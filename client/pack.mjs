// Makes what is published, in client/lib: one minified module for each entry, with what they share apart. Members that nobody
// outside can name get short names: those of which no exported declaration, no message, no type of the platform and no text in
// the sources speaks. `node client/pack.mjs`; needs the modules that tests/client installs.

import { createRequire } from 'node:module';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, '../tests/client/package.json'));
const esbuild = require('esbuild');
const terser = require('terser');
const ts = require('typescript');

const entries = Object.keys(JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')).exports).map((path) =>
  path === '.' ? 'index' : path.slice(2),
);
const source = (name) => join(here, 'src', `${name}.ts`);

const tagged = (node, name) => ts.getJSDocTags(node).some((tag) => tag.tagName.text === name);

/** Names of members that only the sources themselves use. What is stored or sent is tagged @form: other versions read it. */
export function internalNames() {
  const files = readdirSync(join(here, 'src')).map((name) => join(here, 'src', name));
  const options = { target: ts.ScriptTarget.ES2020, lib: ['lib.es2020.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'], types: [] };
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const exported = new Set();
  for (const entry of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(source(entry)));
    for (const symbol of checker.getExportsOfModule(module)) {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      for (const declaration of target.declarations ?? []) exported.add(declaration);
    }
  }
  const own = new Set();
  const others = new Set();
  const visit = (node, isOwn, isPublic) => {
    const inside = isPublic || exported.has(node) || tagged(node, 'form');
    if (ts.isStringLiteralLike(node)) others.add(node.text);
    const isMember = ts.isPropertyDeclaration(node) || ts.isPropertySignature(node) || ts.isMethodDeclaration(node) ||
      ts.isMethodSignature(node) || ts.isAccessor(node) || ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node) ||
      (ts.isParameter(node) && ts.isParameterPropertyDeclaration(node, node.parent));
    if (isMember && node.name !== undefined && ts.isIdentifier(node.name)) {
      const isPrivate = (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0 ||
        tagged(node, 'internal');
      (isOwn && (isPrivate || !inside) ? own : others).add(node.name.text);
    }
    ts.forEachChild(node, (child) => visit(child, isOwn, inside && !ts.isBlock(node)));
  };
  for (const file of program.getSourceFiles()) visit(file, !file.isDeclarationFile, /\/protocol(_write)?\.ts$/.test(file.fileName));
  return [...own].filter((name) => !others.has(name)).sort();
}

const squeeze = {
  module: true,
  ecma: 2020,
  compress: { ecma: 2020, passes: 3, unsafe: true, unsafe_arrows: true, pure_getters: true, reduce_funcs: false, hoist_funs: true },
};

/** What is published: name → text. */
export async function pack() {
  const built = await esbuild.build({
    entryPoints: entries.map(source),
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2020',
    outdir: join(here, 'lib'),
    mangleProps: new RegExp(`^(?:${internalNames().join('|')})$`),
    write: false,
  });
  const squeezed = built.outputFiles.map(async (file) => [basename(file.path), (await terser.minify(file.text, squeeze)).code]);
  return new Map(await Promise.all(squeezed));
}

/** Gzipped bytes of what an application carries that imports these names of the published package, bundled as Vite does it. */
export async function carriedBytes(names, published) {
  const found = {
    name: 'published',
    setup: (build) => {
      build.onResolve({ filter: /^@viewgate\// }, () => ({ path: 'index.js', namespace: 'published', sideEffects: false }));
      build.onLoad({ filter: /./, namespace: 'published' }, () => ({ contents: published.get('index.js') }));
    },
  };
  const stdin = { contents: `export { ${names.join(', ')} } from '@viewgate/client'` };
  const built = await esbuild.build({ stdin, bundle: true, minify: true, format: 'esm', target: 'es2020', write: false, plugins: [found] });
  return gzipSync(built.outputFiles[0].contents, { level: 9 }).length;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  mkdirSync(join(here, 'lib'), { recursive: true });
  const published = await pack();
  for (const [name, text] of published) writeFileSync(join(here, 'lib', name), text);
  for (const names of [['connect'], ['connect', 'ordered'], ['connect', 'writer', 'optimistic', 'indexedDbStorage'], ['connectShared']]) {
    process.stdout.write(`${names.join(', ')}: ${await carriedBytes(names, published)} bytes gzipped\n`);
  }
}
