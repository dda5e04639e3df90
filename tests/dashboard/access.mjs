// A broker that asks for a token: signing in, signing out, and what a role may not do is not offered. The proxy in front
// refuses as the description of the API says: 401 without a token, 403 below the role of an operation.
import { createServer, request as ask } from 'node:http';
import { readFileSync } from 'node:fs';
import { check, checkAccess, checkPage, holds, openPage, run, show, shows, startBroker, startBrowser } from './support.mjs';
import { fill } from './sample.mjs';

const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
const ranks = { none: 0, 'read-only': 1, 'read-write': 2, admin: 3 };
const rules = Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({
  method: method.toUpperCase(),
  words: path.split('{').length,
  pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
  rank: ranks[operation['x-queen-role']],
}))).sort((a, b) => a.words - b.words);

function guard(broker) {
  return createServer((request, reply) => {
    const path = request.url.split('?')[0];
    const needed = rules.find((rule) => rule.method === request.method && rule.pattern.test(path))?.rank ?? 0;
    const given = ranks[(request.headers.authorization ?? '').replace(/^Bearer token-/, '')] ?? 0;
    if (needed > given) {
      const [status, error] = given === 0 ? [401, 'Authentication required'] : [403, 'Insufficient permissions'];
      reply.writeHead(status, { 'content-type': 'application/json' });
      reply.end(JSON.stringify({ error, code: status === 401 ? 'unauthorized' : 'forbidden' }));
      request.resume();
      return;
    }
    const onward = ask(`${broker.url}${request.url}`, { method: request.method, headers: request.headers }, (answer) => {
      reply.writeHead(answer.statusCode, answer.headers);
      answer.pipe(reply);
    });
    onward.on('error', () => reply.destroy());
    request.pipe(onward);
  });
}

let broker, browser, closed, page;

async function signIn(token) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function offered(name) {
  return page.getByRole('button', { name, exact: true }).count();
}

await run([
  ['a closed broker with data, a browser', async () => {
    [broker, browser] = await Promise.all([startBroker(), startBrowser()]);
    await fill(broker);
    const server = guard(broker);
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    server.unref();
    closed = { url: `http://127.0.0.1:${server.address().port}` };
    page = await openPage(browser);
  }],
  ['without a token there is only the sign-in', async () => {
    await show(page, closed, 'queue/orders', 'Sign in');
    await checkAccess(page, 'the sign-in');
    await signIn('wrong');
    await shows(page, 'Authentication required', '.sign-in');
  }],
  ['a reader sees everything and is offered no change', async () => {
    await signIn('Bearer token-read-only');
    await page.locator('h1', { hasText: 'orders' }).waitFor();
    await shows(page, 'Longest wait');
    await holds(page, () => ![...document.querySelectorAll('button')].some((one) => ['Delete', 'Clear', 'Configure', 'Push'].includes(one.textContent)));
    await show(page, closed, 'queues', 'Queues');
    await shows(page, 'shop.mails');
    check((await offered('Make a queue')) === 0, 'no queue can be made');
    await show(page, closed, 'dead-letters', 'Dead letters');
    await shows(page, 'the card was declined');
    check((await offered('Redrive all')) === 0 && (await offered('Delete all')) === 0, 'nothing can be redriven');
    await show(page, closed, 'brokers', 'Brokers');
    await shows(page, 'All brokers of this database');
    check((await offered('Pause pushes')) === 0, 'nothing can be paused');
    await show(page, closed, 'overview', 'Overview');
    await shows(page, ['Healthy', 'Connections']);
    checkPage(page);
  }],
  ['the token is of this tab and is forgotten', async () => {
    const stored = await page.evaluate(() => [Object.values({ ...localStorage }).join(), document.cookie].join());
    check(!stored.includes('token-'), 'no token outside of the session');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  }],
  ['a writer may redrive, but not delete', async () => {
    await signIn('token-read-write');
    await show(page, closed, 'dead-letters', 'Dead letters');
    await page.getByRole('button', { name: 'Redrive all', exact: true }).waitFor();
    await holds(page, () => ![...document.querySelectorAll('button')].some((one) => one.textContent === 'Delete all'));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  }],
  ['an administrator may do everything', async () => {
    await signIn('token-admin');
    await show(page, closed, 'dead-letters', 'Dead letters');
    await page.getByRole('button', { name: 'Delete all', exact: true }).waitFor();
    await show(page, closed, 'brokers', 'Brokers');
    await page.getByRole('button', { name: 'Pause pushes', exact: true }).waitFor();
    checkPage(page);
  }],
]);
