// Makes the dashboard: types, one script, one style sheet, the page. Then writes them as a C++ source, each asset
// as it is and gzipped, for src/api/dashboard.cc.
//   node build.mjs <directory of the result>
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { generateTypes } from './types.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, 'dist');
// What a first visit costs over the network, at most.
const gzipBytesMax = 400_000;

const contentTypes = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

generateTypes(join(here, '../docs/openapi.json'), join(here, 'src/generated/api.ts'));

const bundle = await build({
  absWorkingDir: here,
  bundle: true,
  charset: 'utf8',
  entryPoints: { dashboard: 'src/main.tsx' },
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  minify: true,
  outdir: 'out',
  target: 'es2020',
  write: false,
});

const assets = [];
function addAsset(name, extension, content, hashed = true) {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
  const path = hashed ? `/assets/${name}-${hash}.${extension}` : `/assets/${name}.${extension}`;
  assets.push({ path, extension, content, hashed });
  return path;
}

const places = { icon: addAsset('queen', 'svg', readFileSync(join(here, 'src/queen.svg')), false) };
for (const file of bundle.outputFiles) {
  const extension = file.path.split('.').pop();
  places[extension] = addAsset('dashboard', extension, Buffer.from(file.contents));
}
const page = readFileSync(join(here, 'src/index.html'), 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => places[name]);
assets.unshift({ path: '/', extension: 'html', content: Buffer.from(page), hashed: false });

function cxxLiteral(bytes) {
  let text = '';
  for (let i = 0; i < bytes.length; i += 64) {
    text += '\n     "';
    for (const byte of bytes.subarray(i, i + 64)) text += `\\${byte.toString(8).padStart(3, '0')}`;
    text += '"';
  }
  return text;
}

let gzipBytes = 0;
const rows = assets.map(({ path, extension, content, hashed }) => {
  const packed = gzipSync(content, { level: 9 });
  gzipBytes += packed.length;
  const tag = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return `    {"${path}", "${contentTypes[extension]}", "\\"${tag}\\"", ${hashed},
     {${cxxLiteral(content)},
     ${content.length}},
     {${cxxLiteral(packed)},
     ${packed.length}}},`;
});
if (gzipBytes > gzipBytesMax) throw new Error(`the dashboard has ${gzipBytes} bytes, more than ${gzipBytesMax}`);

mkdirSync(target, { recursive: true });
for (const { path, content } of assets) {
  writeFileSync(join(target, path === '/' ? 'index.html' : path.split('/').pop()), content);
}
writeFileSync(
  join(target, 'dashboard_assets.cc'),
  `// Written by dashboard/build.mjs.
#include "api/dashboard.h"

namespace queen::api {
namespace {

constexpr DashboardAsset kAssets[] = {
${rows.join('\n')}
};

}  // namespace

std::span<const DashboardAsset> DashboardAssets() { return kAssets; }

}  // namespace queen::api
`,
);
console.log(`dashboard: ${assets.length} files, ${(gzipBytes / 1024).toFixed(1)} KiB with gzip`);
