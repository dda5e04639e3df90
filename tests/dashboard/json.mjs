// The reader of JSON that keeps what JSON.parse would change, and the generated list of operations. No browser.
import { createRequire } from 'node:module';
import { strict as assert } from 'node:assert';

const esbuild = createRequire(new URL('../../dashboard/package.json', import.meta.url))('esbuild');
const built = await esbuild.build({
  entryPoints: [new URL('../../dashboard/src/parts/json_text.ts', import.meta.url).pathname], bundle: true, format: 'esm', write: false });
const { readJson, writeJson, field } = await import(`data:text/javascript,${encodeURIComponent(built.outputFiles[0].text)}`);

for (const text of ['null', '"a\\u0000\\"b"', '[]', '{}', '[1,[2,{"a":[]}],{}]', '{"b":1,"a":{"c":[true,false,null]}}', '-0.0', '1E400',
  '12345678901234567890.1234567890']) {
  assert.equal(writeJson(readJson(text)).replace(/\n */g, '').replace(/: /g, ':'), text, text);
}
assert.equal(writeJson(field(readJson('{"x":0,"payload":9007199254740993}'), 'payload')), '9007199254740993');
assert.equal(field(readJson('[1]'), 'payload'), undefined);
for (const text of ['', '{', '[1', '{"a"}', '{1:2}', '[,]', 'nothing', '{"a" 1}', '[1 2]', '{"a":1 "b":2}']) assert.throws(() => readJson(text), SyntaxError, text);
console.log('all passed');
