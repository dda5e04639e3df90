// What hurts: names and texts that mean something to a browser, payloads of ten megabytes, clocks that differ, hundreds
// of redrives, a broker that hangs, and a database that is away.
import { readFileSync } from 'node:fs';
import { addressHas, check, checkPage, databaseSocket, Gate, holds, openPage, run, show, shows, startBroker, startBrowser, until } from './support.mjs';

const names = ['.', '..', 'a/b/c', '100%', '#?&=', 'two words', 'Käse ✓', '<script>alert(1)</script>', `it's "$(x)"`, 'lagging'];
// Those that an address cannot have as they are; the walk through the groups is for them.
const hardest = ['.', '..', 'a/b/c', 'lagging'];
const kLetters = 450;
const kBigBytes = 10 * 1024 * 1024;

let broker, behind, gate, browser, page, big;
const button = (name) => page.getByRole('button', { name, exact: true });
const path = (...parts) => parts.map(encodeURIComponent).join('/');

/** Waits for a page with exactly this heading, and texts of it. */
async function stands(heading, texts) {
  await holds(page, (wanted) => document.querySelector('h1')?.textContent === wanted, heading).catch(async () => {
    throw new Error(`"${heading}" does not come, but "${await page.locator('h1').textContent()}" at ${await page.evaluate(() => location.href)}`);
  });
  await shows(page, texts);
}

/** Follows the link of exactly this text in a table. */
async function follow(table, name) {
  await page.getByRole('region', { name: table }).getByRole('link', { name, exact: true }).first().click();
}

/** A page on a computer whose clock is so many hours off. */
async function openPageWithClock(hours) {
  const other = await openPage(browser);
  await other.addInitScript((offset) => {
    const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...parts) { if (parts.length === 0) super(Real.now() + offset); else super(...parts); }

      static now() { return Real.now() + offset; }
    };
  }, hours * 3_600_000);
  return other;
}

await run([
  ['two brokers on one database, a browser', async () => {
    [broker, browser] = await Promise.all([startBroker(), startBrowser()]);
    gate = new Gate(databaseSocket(broker));
    await gate.open();
    behind = await startBroker({ PG_HOST: '127.0.0.1', PG_PORT: String(gate.port), PG_USER: 'queen', PG_DB: 'queen' });
    page = await openPage(browser, { acceptDownloads: true });
  }],
  ['queues, partitions, messages and groups of any name', async () => {
    // Leases that outlast the test, however slow the machine is.
    for (const queue of names) await broker.post('/api/v1/configure', { queue, options: { leaseTime: 86_400 } });
    await broker.post('/api/v1/push', { items: names.flatMap((name, n) =>
      Array.from({ length: n + 2 }, (_, k) => ({ queue: name, partition: name, transactionId: k === 0 ? name : `${k}`, payload: { mark: `mark-${n}-${k}` } }))) });
    for (const name of names) await broker.get(`/api/v1/pop/queue/-?${new URLSearchParams({ ':queue': name, consumerGroup: name, batch: '1' })}`);
    await broker.post('/api/v1/stats/refresh');
    for (const [n, name] of names.entries()) {
      const amount = `${n + 2} messages`;
      await show(page, broker, 'queues', 'Queues');
      await follow('Queues', name);
      await stands(`Queues / ${name}`, [`of ${amount}`, 'Longest wait']);
      await show(page, broker, `queue/${path(name)}?tab=tail`, name);
      await follow('Newest messages', name);
      // The partition, or the message of that name: both stand in the table, the partition first.
      await stands(`${name} / ${name}`, [amount, 'A consumer holds it', 'Lease ends']);
      await follow('Newest messages', name);
      await stands(`Messages / ${name}`, [`mark-${n}-0`, 'Nobody noted anything']);
      if (!hardest.includes(name)) continue;
      await show(page, broker, `groups?q=${encodeURIComponent(name)}`, 'Groups');
      await follow('Groups', name);
      await stands(`Groups / ${name}`, [amount]);
      await follow('Partitions of the group', name);
      await stands(`${name} / ${name}`, ['A consumer holds it']);
      await addressHas(page, 'group=');
    }
    checkPage(page);
  }],
  ['a partition is opened by a click on the map, and by its name', async () => {
    await show(page, broker, `queue/${path('a/b/c')}?order=name`, 'a/b/c');
    await page.getByLabel('Open a partition by its name').fill('a/b/c');
    await button('Open').click();
    await stands('a/b/c / a/b/c', ['4 messages']);
    await show(page, broker, `queue/${path('a/b/c')}?order=lag`, 'a/b/c');
    // The cell is there when it is described, wherever the layout has moved it meanwhile.
    await until(async () => {
      const box = await page.locator('.heat canvas').boundingBox();
      await page.mouse.move(box.x + 12, box.y + 12);
      return /^a\/b\/c: /.test(await page.locator('#heat-says').textContent());
    }, 'the cell under the pointer to be described');
    await page.locator('.heat canvas').click({ position: { x: 12, y: 12 } });
    await stands('a/b/c / a/b/c', ['4 messages']);
  }],
  ['texts of others are texts', async () => {
    const hurt = '<img src=x onerror="window.hurt=1"><script>window.hurt=2</script>';
    const [stored] = await broker.post('/api/v1/push', { items: [{ queue: hurt, partition: hurt, transactionId: hurt, payload: { [hurt]: hurt }, headers: { [hurt]: hurt } }] });
    const popped = await broker.get(`/api/v1/pop/queue/${path(hurt)}?consumerGroup=${path(hurt)}`);
    await broker.post('/api/v1/traces', { transactionId: hurt, partitionId: stored.partition_id, eventType: hurt, traceNames: [hurt], data: { [hurt]: hurt }, consumerGroup: hurt });
    await broker.post('/api/v1/ack', { transactionId: hurt, partitionId: stored.partition_id, leaseId: popped.leaseId, consumerGroup: hurt, status: 'dlq', error: hurt });
    await broker.post('/api/v1/stats/refresh');
    const where = ['overview', 'queues', `queue/${path(hurt)}`, `queue/${path(hurt)}?tab=tail`, `partition/${path(hurt, hurt)}`, 'messages', `message/${path(stored.partition_id, hurt)}`,
      'dead-letters', 'groups', `group/${path(hurt, hurt)}`, 'traces', `traces/${path(hurt)}`, `queue/${path(`no${hurt}`)}`];
    for (const hash of where) {
      await show(page, broker, hash, '');
      await shows(page, hurt);
      const found = await page.evaluate(() => [globalThis.hurt, document.querySelectorAll('main img[src], main script').length]);
      check(found[0] === undefined && found[1] === 0, `nothing of a text is run on ${hash}`);
    }
    await page.getByRole('button', { name: 'Copy the command' }).waitFor();
    checkPage(page);
  }],
  ['a payload of ten megabytes is cut, and can be had', async () => {
    const payload = JSON.stringify('ü'.repeat(kBigBytes / 2));
    const reply = await fetch(`${broker.url}/api/v1/push`, { method: 'POST', body: `{"items":[{"queue":"big","transactionId":"big-1","payload":${payload}}]}` });
    [big] = await reply.json();
    await page.evaluate(() => performance.clearResourceTimings());
    await show(page, broker, `message/${path(big.partition_id, 'big-1')}`, 'big-1');
    await shows(page, ['This is the beginning of 10 MiB.', 'üüü']);
    const length = await page.evaluate(() => document.querySelector('main').textContent.length);
    check(length < 200_000, `a page that stays usable, not one of ${length} characters`);
    const downloading = page.waitForEvent('download');
    await button('Download the whole message').click();
    const whole = JSON.parse(readFileSync(await (await downloading).path(), 'utf8'));
    check(JSON.stringify(whole.payload) === payload, 'the whole payload');
  }],
  ['among dead letters it is not loaded before somebody looks', async () => {
    const { leaseId } = await broker.get('/api/v1/pop/queue/big?consumerGroup=g');
    await broker.post('/api/v1/ack', { transactionId: 'big-1', partitionId: big.partition_id, leaseId, consumerGroup: 'g', status: 'dlq', error: 'too long' });
    await page.evaluate(() => performance.clearResourceTimings());
    await show(page, broker, 'dead-letters?queue=big', 'Dead letters');
    await shows(page, 'too long');
    const most = await page.evaluate(() => Math.max(...performance.getEntriesByType('resource').map((entry) => entry.encodedBodySize)));
    check(most < 200_000, `no reply of ${most} bytes`);
    await page.getByRole('button', { name: 'Look inside big-1' }).click();
    await shows(page, 'This is the beginning of 10 MiB.', 'dialog');
    await page.keyboard.press('Escape');
    checkPage(page);
  }],
  [`${kLetters} dead letters are pushed again, and the page says how far it is`, async () => {
    await broker.post('/api/v1/push', { items: Array.from({ length: kLetters }, (_, n) => ({ queue: 'bulk', transactionId: `bulk-${n}`, payload: n })) });
    const { messages, leaseId } = await broker.get(`/api/v1/pop/queue/bulk?consumerGroup=g&batch=${kLetters}`);
    check(messages.length === kLetters, 'all of them popped');
    await broker.post('/api/v1/ack/batch', { consumerGroup: 'g', acknowledgments: messages.map(({ transactionId, partitionId }) => ({ transactionId, partitionId, leaseId, status: 'dlq' })) });
    // The second call waits until the progress of the first was seen.
    let calls = 0;
    let goOn;
    const seen = new Promise((resolve) => { goOn = resolve; });
    await page.route('**/api/v1/dlq/redrive', async (route) => {
      if (++calls === 2) await seen;
      await route.continue();
    });
    await show(page, broker, 'dead-letters?queue=bulk', 'Dead letters');
    await shows(page, `${kLetters} messages match`);
    await button('Redrive all that match').click();
    await page.getByRole('dialog').getByRole('button', { name: `Redrive ${kLetters}` }).click();
    await shows(page, `200 of ${kLetters} dead letters pushed again…`);
    goOn();
    await shows(page, `${kLetters} of ${kLetters} dead letters pushed again. Done.`);
    await page.unroute('**/api/v1/dlq/redrive');
    check(calls >= 3, 'several calls');
    check((await broker.get('/api/v1/dlq?queue=bulk')).total === 0, 'none is left');
    const again = await broker.get(`/api/v1/pop/queue/bulk?consumerGroup=g&batch=${kLetters}&autoAck=true`);
    check(again.messages.length === kLetters, 'each is delivered once more');
    await shows(page, 'No dead letter matches');
  }],
  ['the clock of the computer is hours off', async () => {
    for (const hours of [5, -5]) {
      const other = await openPageWithClock(hours);
      await show(other, broker, `queue/${path('two words')}`, 'two words');
      await holds(other, () => /waiting for up to [\d.]+ (ms|s|min),.* newest [\d.]+ (ms|s|min) ago/.test(document.querySelector('#heat-says')?.textContent ?? ''))
        .catch(async () => { throw new Error(`with ${hours} hours more on this computer the page says: ${await other.locator('#heat-says').textContent()}`); });
      await show(other, broker, 'overview?range=15m', 'Overview');
      await shows(other, 'Messages in and out');
      // The range that is asked for ends now, as the broker sees it.
      await until(async () => {
        const asked = await other.evaluate(() => performance.getEntriesByType('resource').map((entry) => entry.name).filter((name) => /\/status\?from=/.test(name)).pop());
        const from = Date.parse(new URL(asked).searchParams.get('from'));
        return Math.abs(Date.now() - 15 * 60_000 - from) < 10 * 60_000;
      }, 'a range of the broker’s clock');
      checkPage(other);
      await other.context().close();
    }
  }],
  ['a broker that hangs is noticed, and the page goes on with it', async () => {
    await show(page, broker, 'overview', 'Overview');
    await shows(page, ['Healthy', 'Messages in and out']);
    broker.process.kill('SIGSTOP');
    try {
      await shows(page, 'The broker does not answer.', '.banners');
      await shows(page, ['Away', 'Messages in and out']);
    } finally {
      broker.process.kill('SIGCONT');
    }
    await holds(page, () => !document.querySelector('.banner.bad'));
    await shows(page, 'Healthy');
    await broker.post('/api/v1/push', { items: [{ queue: 'after the hang', payload: 1 }] });
    await show(page, broker, 'queues', 'Queues');
    await shows(page, 'after the hang');
  }],
  ['PostgreSQL is away: the page says so, keeps what it shows and goes on', async () => {
    await show(page, behind, 'queues', 'Queues');
    await shows(page, 'a/b/c');
    gate.shut();
    await shows(page, 'PostgreSQL cannot be reached.', '.banners');
    await shows(page, 'a/b/c');
    const [kept] = await behind.post('/api/v1/push', { items: [{ queue: 'while away', payload: 1 }] });
    check(kept.status === 'buffered', 'pushes are taken');
    await show(page, behind, 'overview', 'Overview');
    await shows(page, 'without PostgreSQL');
    await gate.open();
    await holds(page, () => !document.querySelector('.banner.bad'));
    await shows(page, 'Healthy');
    await show(page, behind, 'queues', 'Queues');
    await shows(page, 'while away');
    checkPage(page);
  }],
]);
