// Pictures of every page, for docs/dashboard.md (scripts/dashboard-screens). Traffic goes on until the charts have
// something to show. Pictures are made small by taking the colours down to a palette (shrink.mjs).
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { databaseSocket, Gate, openPage, run, say, show, shows, startBroker, startBrowser } from './support.mjs';
import { fill } from './sample.mjs';
import { shrink } from './shrink.mjs';

const target = process.argv[2];
const kMinutes = Number(process.env.SCREENS_MINUTES ?? 6);
// SCREENS_ONLY=queues,groups takes these pictures only.
const only = process.env.SCREENS_ONLY?.split(',');
let broker, browser, sample;

let ended = false;

/** A few hundred messages a second, consumed but for some, until the pictures are taken. */
async function traffic() {
  for (let round = 1; !ended; ++round) {
    const size = 20 + Math.round(15 * Math.sin(round / 9));
    await broker.post('/api/v1/push', { items: Array.from({ length: size }, (_, n) => ({ queue: n % 5 ? 'orders' : 'shop.mails', partition: n % 5 ? `customer-${1 + ((n * 7 + round) % 300)}` : 'Default', payload: { round, n } })) });
    await broker.get('/api/v1/pop/queue/orders?batch=30&partitions=30&consumerGroup=billing&autoAck=true');
    await broker.get('/api/v1/pop/queue/orders?batch=12&partitions=12&consumerGroup=shipping&autoAck=true');
    await broker.get('/api/v1/pop/queue/shop.mails?batch=4&autoAck=true');
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

async function picture(page, name) {
  if (only && !only.includes(name)) return;
  await page.evaluate(() => scrollTo(0, 0));
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: page.viewportSize().width, height: Math.min(name === 'away' ? 640 : 1150, Math.max(640, height)) });
  // Charts redraw at their new size in the next frames.
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
  const png = shrink(await page.screenshot());
  writeFileSync(join(target, `${name}.png`), png);
  say(`${name}.png ${(png.length / 1024).toFixed(0)} KiB`);
}

await run([
  ['a broker with data, a browser', async () => {
    mkdirSync(target, { recursive: true });
    [broker, browser] = await Promise.all([startBroker(), startBrowser()]);
    sample = await fill(broker);
  }],
  [`traffic for ${kMinutes} minutes`, async () => {
    void traffic();
    await new Promise((resolve) => { setTimeout(resolve, kMinutes * 60_000); });
  }],
  ['pictures', async () => {
    await broker.post('/api/v1/stats/refresh');
    const pages = [
      ['overview', 'overview?range=15m', 'Overview', ['Healthy', 'Connections', 'slots free']],
      ['queues', 'queues?range=15m', 'Queues', ['orders', 'totals']],
      ['queue', 'queue/orders?range=15m', 'orders', ['Longest wait', 'Age on delivery']],
      ['tail', 'queue/orders?tab=tail', 'orders', ['waiting']],
      ['push', 'queue/orders?tab=push', 'orders', ['Any JSON value.']],
      ['options', 'queue/orders?tab=options', 'orders', ['3600 s']],
      ['partition', 'partition/orders/customer-2?group=shipping', 'customer-2', ['A consumer holds it', 'order-2-0']],
      ['messages', 'messages?queue=orders', 'Messages', ['customer-']],
      ['message', `message/${sample.traced.partitionId}/${sample.traced.transactionId}`, 'order-1-0', ['9007199254740993', 'charged']],
      ['dead-letters', 'dead-letters', 'Dead letters', ['no such account']],
      ['groups', 'groups', 'Groups', ['billing']],
      ['group', 'group/billing/orders', 'billing', ['customer-1']],
      ['traces', 'traces/checkout-1', 'checkout-1', ['the card was charged']],
      ['streams', 'streams', 'Streams', ['totals-by-customer']],
      ['stream', `stream/${sample.query.query_id}`, 'totals-by-customer', ['customer-1 (2 rows)']],
      ['brokers', 'brokers?range=15m', 'Brokers', ['Pause pushes', 'Messages in one request']],
      ['audit', 'audit', 'Audit', ['queue.configure']],
    ];
    const light = await openPage(browser, { viewport: { width: 1200, height: 800 } });
    for (const [name, hash, heading, texts] of pages) {
      await light.setViewportSize({ width: 1200, height: 800 });
      await show(light, broker, hash, heading);
      await shows(light, texts);
      await picture(light, name);
      if (name === 'group') {
        await light.getByRole('button', { name: 'Move (seek)' }).click();
        await light.getByRole('dialog').getByLabel('To').selectOption('begin');
        await light.getByRole('button', { name: 'Preview' }).click();
        await shows(light, 'What it will do', 'dialog');
        await picture(light, 'seek');
        await light.keyboard.press('Escape');
      }
    }
    const dark = await openPage(browser, { viewport: { width: 1200, height: 800 }, colorScheme: 'dark' });
    await show(dark, broker, 'overview?range=15m', 'Overview');
    await shows(dark, ['Healthy', 'Connections', 'slots free']);
    await picture(dark, 'overview-dark');
    const phone = await openPage(browser, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    await show(phone, broker, 'queue/orders?range=15m', 'orders');
    await shows(phone, 'Longest wait');
    await picture(phone, 'phone');
    ended = true;
  }],
  ['a broker that asks for a token, and loses its database', async () => {
    const directory = mkdtempSync('/tmp/queen-dashboard-tokens.');
    try {
      writeFileSync(join(directory, 'tokens'), 'a-token-of-operators admin sub=ops\n', { mode: 0o600 });
      const gate = new Gate(databaseSocket(broker));
      await gate.open();
      const closed = await startBroker({ QUEEN_TOKENS_FILE: join(directory, 'tokens'), PG_HOST: '127.0.0.1', PG_PORT: String(gate.port), PG_USER: 'queen', PG_DB: 'queen' });
      const page = await openPage(browser, { viewport: { width: 1200, height: 800 } });
      await show(page, closed, 'overview?range=15m', 'Sign in');
      await picture(page, 'sign-in');
      await page.getByLabel('Token').fill('a-token-of-operators');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await shows(page, ['Healthy', 'Connections']);
      gate.shut();
      await shows(page, 'PostgreSQL cannot be reached.', '.banners');
      await shows(page, 'without PostgreSQL');
      await page.setViewportSize({ width: 1200, height: 640 });
      await picture(page, 'away');
      await gate.open();
    } finally {
      rmSync(directory, { recursive: true });
    }
  }],
]);
