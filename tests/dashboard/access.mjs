// A broker that asks for tokens: signing in, signing out, and what a role or a token for some queues may not do is not
// offered.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressHas, check, checkAccess, checkPage, headed, holds, openPage, run, show, shows, startBroker, startBrowser } from './support.mjs';
import { fill } from './sample.mjs';

const directory = mkdtempSync('/tmp/queen-dashboard-tokens.');
const file = join(directory, 'tokens');
writeFileSync(file, [
  'token-of-a-reader read-only sub=rita',
  'token-of-a-writer read-write sub=walter',
  'token-of-an-admin admin sub=ada',
  'token-for-some-queues admin sub=lea push=shop.* pop=shop.*,totals admin=shop.*',
].join('\n'), { mode: 0o600 });
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

// More queues than one page has, none of them of the token for some queues, and all before its own by name.
const kOthers = 1_100;

let broker, browser, page;

async function signIn(token) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function signOut() {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

/** Waits until the buttons on the page are these of `names`, and no other of them. */
async function offers(names, all) {
  await holds(page, ([wanted, known]) => {
    const there = new Set([...document.querySelectorAll('main button')].map((one) => one.textContent));
    return known.every((name) => there.has(name) === wanted.includes(name));
  }, [names, all]).catch(async () => {
    const there = await page.evaluate(() => [...document.querySelectorAll('main button')].map((one) => one.textContent));
    throw new Error(`expected of ${all} only ${names}, but there are ${there}`);
  });
}

/** The pages that the menu offers. */
async function menuIs(names) {
  await holds(page, (wanted) => [...document.querySelectorAll('nav.side a')].map((one) => one.textContent).join() === wanted, names.join());
}

const queueButtons = ['Configure', 'Clear', 'Delete', 'Push'];
const letterButtons = ['Redrive all', 'Delete all', 'Redrive all that match', 'Delete all that match'];
const everything = ['Overview', 'Queues', 'Messages', 'Dead letters', 'Groups', 'Traces', 'Streams', 'Brokers', 'Audit'];

await run([
  ['a closed broker with data, a browser', async () => {
    [broker, browser] = await Promise.all([startBroker({ QUEEN_TOKENS_FILE: file }, 'token-of-an-admin'), startBrowser()]);
    await fill(broker);
    await broker.post('/api/v1/push', { items: Array.from({ length: kOthers }, (_, n) => ({ queue: `another-${n}`, payload: n })) });
    await broker.post('/api/v1/stats/refresh');
    page = await openPage(browser);
  }],
  ['without a token there is only the sign-in', async () => {
    await show(page, broker, 'queue/orders', 'Sign in');
    await checkAccess(page, 'the sign-in');
    await signIn('wrong');
    await shows(page, 'Unknown or revoked token', '.sign-in');
  }],
  ['a reader sees everything and is offered no change', async () => {
    await signIn('Bearer token-of-a-reader');
    await headed(page, 'Queues / orders');
    await shows(page, 'Longest wait');
    await menuIs(everything.slice(0, -1));
    await offers([], queueButtons);
    await show(page, broker, 'queues', 'Queues');
    await shows(page, [`${(kOthers + 3).toLocaleString('en')} queues`]);
    await offers([], ['Make a queue']);
    await show(page, broker, 'dead-letters', 'Dead letters');
    await shows(page, 'the card was declined');
    await offers([], letterButtons);
    await show(page, broker, 'brokers', 'Brokers');
    await shows(page, 'All brokers of this database');
    await offers([], ['Pause pushes', 'Pause pops']);
    await show(page, broker, 'audit', 'Not for this token');
    await show(page, broker, 'overview', 'Overview');
    await shows(page, ['Healthy', 'Connections']);
    checkPage(page);
  }],
  ['the token is of this tab and is forgotten', async () => {
    const stored = await page.evaluate(() => [Object.values({ ...localStorage }).join(), document.cookie].join());
    check(!stored.includes('token-'), 'no token outside of the session');
    await signOut();
  }],
  ['a writer may redrive, but not delete', async () => {
    await signIn('token-of-a-writer');
    await show(page, broker, 'dead-letters', 'Dead letters');
    await shows(page, 'the card was declined');
    await offers(['Redrive all'], letterButtons);
    await show(page, broker, 'queue/orders', 'orders');
    await offers(['Configure', 'Push'], queueButtons);
    await signOut();
  }],
  ['an administrator may do everything', async () => {
    await signIn('token-of-an-admin');
    await show(page, broker, 'dead-letters', 'Dead letters');
    await shows(page, 'the card was declined');
    await offers(['Redrive all', 'Delete all'], letterButtons);
    await show(page, broker, 'brokers', 'Brokers');
    await offers(['Pause pushes', 'Pause pops'], ['Pause pushes', 'Pause pops']);
    await show(page, broker, 'audit', 'Audit');
    await shows(page, 'ada');
    await menuIs(everything);
    await signOut();
  }],
  ['a token for some queues signs in and sees these, beyond the first page', async () => {
    await show(page, broker, 'overview', 'Sign in');
    await signIn('token-for-some-queues');
    await addressHas(page, '#/queues');
    await headed(page, 'Queues');
    await shows(page, ['shop.mails', 'totals', '2 queues']);
    check((await page.locator('tbody th a').count()) === 2, 'no queue of others');
    await menuIs(['Queues', 'Messages', 'Dead letters', 'Groups']);
    await checkAccess(page, 'queues of a token for some');
  }],
  ['it is offered what it may do to each', async () => {
    await show(page, broker, 'queue/shop.mails', 'shop.mails');
    await shows(page, ['of 3 messages', 'Messages in and out']);
    await offers(queueButtons, queueButtons);
    await show(page, broker, 'queue/totals', 'totals');
    await shows(page, 'of 1 message');
    await offers([], queueButtons);
    await show(page, broker, 'group/__QUEUE_MODE__/shop.mails', '(no group)');
    await offers(['Move (seek)', 'Delete'], ['Move (seek)', 'Delete']);
    await show(page, broker, 'queue/orders', 'orders');
    await shows(page, 'may not see the queue orders');
    await offers([], queueButtons);
  }],
  ['it names a queue where others see all', async () => {
    for (const [where, heading] of [['messages', 'Messages'], ['dead-letters', 'Dead letters']]) {
      await show(page, broker, where, heading);
      await shows(page, 'Name a queue');
    }
    await show(page, broker, 'messages?queue=shop.mails', 'Messages');
    await shows(page, 'waiting');
    await show(page, broker, 'dead-letters?queue=shop.mails', 'Dead letters');
    await shows(page, 'No dead letter matches');
    await show(page, broker, 'groups', 'Groups');
    await shows(page, 'shop.mails');
    check(!(await page.locator('main').textContent()).includes('billing'), 'no group of others');
    for (const where of ['brokers', 'traces', 'streams', 'audit']) await show(page, broker, where, 'Not for this token');
    checkPage(page);
  }],
  ['nothing of it was refused on the way', async () => {
    // What a page asks without being allowed would fill the broker's log at each turn.
    const asked = [];
    page.on('response', (reply) => { if (reply.status() === 403) asked.push(reply.url()); });
    await page.evaluate(() => { location.hash = '#/overview'; });
    await addressHas(page, '#/queues');
    await page.reload();
    await shows(page, '2 queues');
    for (const where of ['queues', 'queue/shop.mails', 'groups', 'messages', 'dead-letters', 'partition/shop.mails/Default']) {
      await show(page, broker, where, '');
      await page.locator('main .card').first().waitFor();
    }
    await page.waitForResponse((reply) => reply.url().endsWith('/health'));
    check(asked.length === 0, `no question that is refused, but ${asked[0]}`);
  }],
]);
