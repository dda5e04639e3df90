// Commands to paste: whatever a queue is called, a shell runs curl with exactly the words that are meant, and nothing
// else. And which names the addresses of the API can have. No browser.
import { createRequire } from 'node:module';
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../../dashboard/', import.meta.url);
const esbuild = createRequire(new URL('package.json', root))('esbuild');
const built = await esbuild.build({
  stdin: { contents: "export * from './src/shell'; export { pathOf } from './src/api'; export { matches } from './src/rights';", resolveDir: root.pathname },
  bundle: true, format: 'esm', write: false, jsx: 'automatic', jsxImportSource: 'preact' });
const kept = { 'queen-token': '' };
const silent = new EventTarget();
Object.assign(globalThis, {
  location: { origin: 'http://localhost:6632', hash: '' }, document: silent, addEventListener: () => undefined,
  setInterval: () => 0, sessionStorage: { getItem: (name) => kept[name] }, localStorage: { getItem: () => null } });
const { shellWord, curlLine, pushLine, pathOf, matches } = await import(`data:text/javascript,${encodeURIComponent(built.outputFiles[0].text)}`);

const nasty = ["it's", '$(touch x)', '`touch x`', '"; touch x; "', "'; touch x; '", 'a\nb', '\ntouch x\n', '\\', '\\\'', '!!', '~', '*', '-rf', 'a b', '', '&', '|', '>x', '#', '${HOME}', 'é✓', '%s', '{a,b}'];

const place = mkdtempSync(join(tmpdir(), 'queen-shell-test.'));
try {
  /** The words that `sh` makes of a line whose first is curl. */
  const wordsOf = (line) => {
    const printed = execFileSync('sh', ['-c', `curl() { for word; do printf '%s\\0' "$word"; done; }\n${line}`],
      { cwd: place, env: { PATH: process.env.PATH, HOME: '/nowhere', QUEEN_TOKEN: 'secret' } }).toString();
    return printed.split('\0').slice(0, -1);
  };
  for (const text of nasty) {
    assert.deepEqual(wordsOf(`curl ${shellWord(text)}`), [text], text);
    const words = wordsOf(pushLine(text));
    assert.deepEqual(words.slice(0, 4), ['-X', 'POST', 'http://localhost:6632/api/v1/push', '-d'], text);
    assert.deepEqual(JSON.parse(words[4]), { items: [{ queue: text, payload: { text: 'Hello, Queen' } }] });
    const popped = wordsOf(curlLine('popQueue', { queue: text, consumerGroup: text }));
    assert.equal(popped.length, 1, text);
    const address = new URL(popped[0]);
    const queue = address.searchParams.get(':queue') ?? decodeURIComponent(address.pathname.split('/').pop());
    assert.equal(queue, text);
    assert.equal(address.searchParams.get('consumerGroup') ?? '', text);
  }
  kept['queen-token'] = 'a-secret-token';
  assert.deepEqual(wordsOf(pushLine('q')).slice(2, 4), ['-H', 'Authorization: Bearer secret']);
  assert.ok(!pushLine('q').includes('a-secret-token'), 'a token is never shown');
  assert.ok(!existsSync(join(place, 'x')), 'nothing was run');
} finally {
  rmSync(place, { recursive: true });
}

assert.equal(shellWord('plain-1.2'), 'plain-1.2');
assert.equal(pathOf('getQueue', { queue: 'a/b c?#%', limit: 1 }), '/api/v1/resources/queues/a%2Fb%20c%3F%23%25?limit=1');
for (const name of ['.', '..', '', '$&', '{partition}', "it's"]) {
  const address = new URL(pathOf('explainLane', { queue: name, partition: name, consumerGroup: 'g' }), 'http://host');
  const [, , , , , queue, , partition] = address.pathname.split('/').map(decodeURIComponent);
  assert.deepEqual([address.searchParams.get(':queue') ?? queue, address.searchParams.get(':partition') ?? partition], [name, name], name);
  assert.ok(address.pathname.endsWith('/explain') && address.pathname.split('/').length === 9, address.href);
}
// The path of another operation hides a group of that name.
assert.equal(pathOf('getGroup', { group: 'lagging' }), '/api/v1/consumer-groups/-?%3Agroup=lagging');

for (const [pattern, queue, is] of [['orders.*', 'orders.eu', true], ['orders.*', 'ordersXeu', false], ['*', '', true], ['a*c', 'a\nb/c', true],
  ['a+(b)', 'a+(b)', true], ['a+(b)', 'aab', false], ['', 'a', false], ['*.é', 'x.é', true]]) assert.equal(matches(pattern, queue), is, pattern);
console.log('all passed');
process.exit(0);
