// Every page with real data: what it shows, light and dark, on a phone, by keyboard, for people with disabilities, and
// without a request to anywhere else.
import { addressHas, check, checkAccess, checkPage, headed, holds, openPage, pressBoth, run, show, shows, startBroker, startBrowser, until } from './support.mjs';
import { fill } from './sample.mjs';

let broker, browser, page, sample;

const pages = () => [
  ['overview', 'Overview', ['Healthy', 'Messages in and out', 'Connections', 'xmin']],
  ['queues', 'Queues', ['orders', 'shop.mails', 'totals', '3 queues']],
  ['queue/orders', 'orders', ['Partitions', 'Longest wait', 'Messages in and out']],
  ['queue/orders?order=name', 'orders', ['nothing waits']],
  ['queue/orders?tab=groups', 'orders', ['billing', 'shipping']],
  ['queue/orders?tab=tail', 'orders', ['Live tail', 'order-59-22']],
  ['queue/orders?tab=push', 'orders', ['Push a message', 'Any JSON value.']],
  ['queue/orders?tab=options', 'orders', ['3600 s', 'How long a consumer may hold']],
  ['partition/orders/customer-2?group=shipping', 'customer-2', ['A consumer holds it', 'Lease ends', 'order-2-0']],
  ['messages?queue=orders&status=dead_letter', 'Messages', ['order-1-0', 'dead letter']],
  [`message/${sample.traced.partitionId}/${sample.traced.transactionId}`, 'order-1-0',
    ['the card was declined', '9007199254740993', 'the card was charged', 'billing']],
  ['dead-letters', 'Dead letters', ['3 messages', 'the card was declined', 'no such account']],
  ['groups', 'Groups', ['billing', 'shipping', '(no group)']],
  ['group/billing/orders', 'billing', ['customer-1', 'Behind']],
  ['traces', 'Traces', ['checkout-1']],
  ['traces/checkout-1', 'checkout-1', ['the card was charged', 'orders / customer-1 / order-1-0']],
  ['streams', 'Streams', ['totals-by-customer', '2 rows']],
  [`stream/${sample.query.query_id}`, 'totals-by-customer', ['6f1c', 'customer-1 (2 rows)']],
  ['brokers', 'Brokers', ['Workers', 'Pause pushes', 'Messages in one request']],
  ['audit', 'Audit', ['queue.configure']],
];

await run([
  ['a broker with data, a browser', async () => {
    [broker, browser] = await Promise.all([startBroker(), startBrowser()]);
    page = await openPage(browser);
  }],
  ['nothing there yet: the page says what to do', async () => {
    await show(page, broker, 'overview', 'Overview');
    await shows(page, ['Nothing has been pushed yet', 'curl -X POST']);
    await checkAccess(page, 'the empty overview');
    await show(page, broker, 'queues', 'Queues');
    await shows(page, 'There is no queue yet');
    for (const [where, text] of [['groups', 'Nobody has popped yet'], ['messages', 'Push the first one'], ['dead-letters', 'No message has died'],
      ['traces', 'Nobody has traced anything yet'], ['streams', 'There is no streaming query yet'], ['queue/none', 'There is no queue none']]) {
      await show(page, broker, where, '');
      await shows(page, text);
    }
  }],
  ['the first queue appears by itself', async () => {
    await show(page, broker, 'queues', 'Queues');
    sample = await fill(broker);
    await shows(page, ['orders', 'shop.mails']);
  }],
  ['every page shows its data and is accessible', async () => {
    for (const [hash, heading, texts] of pages()) {
      await show(page, broker, hash, heading);
      await shows(page, texts);
      await checkAccess(page, hash);
    }
    checkPage(page);
  }],
  ['charts have points and are read out', async () => {
    await show(page, broker, 'overview?range=15m', 'Overview');
    await page.getByRole('img', { name: /Messages in and out: In/ }).waitFor();
    await page.getByRole('button', { name: '6h', exact: true }).click();
    await addressHas(page, 'range=6h');
    await page.getByRole('link', { name: 'Brokers', exact: true }).click();
    await headed(page, 'Brokers');
    await addressHas(page, 'range=6h');
  }],
  ['keys', async () => {
    await pressBoth(page, 'g', 'q', () => location.hash.startsWith('#/queues'));
    await headed(page, 'Queues');
    await shows(page, 'orders');
    await page.keyboard.press('/');
    await holds(page, () => document.activeElement?.matches('[data-filter]'));
    await page.keyboard.type('mail');
    await shows(page, '1 of 3 queues');
    await addressHas(page, 'q=mail');
    await page.keyboard.press('Escape');
    await holds(page, () => !document.activeElement?.matches('[data-filter]'));
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await checkAccess(page, 'the dialog of keys');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // From a page without a filter, `/` goes to the search for queues.
    await show(page, broker, 'overview', 'Overview');
    await page.keyboard.press('/');
    await addressHas(page, '#/queues');
    await holds(page, () => document.activeElement?.matches('[data-filter]'));
  }],
  ['the map of partitions by keyboard', async () => {
    await show(page, broker, 'queue/orders?order=name', 'orders');
    await page.locator('.heat').focus();
    await until(async () => {
      await page.keyboard.press('ArrowRight');
      return /customer-\d+: /.test(await page.locator('#heat-says').textContent());
    }, 'a cell to be described');
    await page.keyboard.press('Enter');
    await shows(page, 'Why does it not move?');
  }],
  ['dark', async () => {
    const dark = await openPage(browser, { colorScheme: 'dark' });
    for (const [hash, heading, texts] of pages().filter(([name]) => /^(overview|queue\/orders$|message\/|dead-letters|partition)/.test(name))) {
      await show(dark, broker, hash, heading);
      await shows(dark, texts);
      await checkAccess(dark, `${hash} in the dark`);
    }
    const ground = await dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check(Math.max(...ground.match(/\d+/g).map(Number)) < 64, `a dark ground, not ${ground}`);
    await dark.getByRole('button', { name: 'Colours: auto' }).click();
    await holds(dark, () => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((part) => Number(part) > 200));
    checkPage(dark);
    await dark.context().close();
  }],
  ['phone', async () => {
    const phone = await openPage(browser, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    for (const [hash, heading, texts] of pages().filter(([name]) => !name.includes('tab='))) {
      await show(phone, broker, hash, heading);
      await shows(phone, texts);
      await holds(phone, () => document.documentElement.scrollWidth - innerWidth <= 1).catch(async () => {
        const over = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        throw new Error(`${hash} does not fit a phone: it is ${over} pixels too wide`);
      });
    }
    await phone.getByRole('button', { name: 'Menu' }).click();
    await checkAccess(phone, 'the menu of a phone');
    await phone.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Groups' }).click();
    await headed(phone, 'Groups');
    checkPage(phone);
    await phone.context().close();
  }],
  ['three tabs ask no more than two questions a second', async () => {
    const tabs = [page, ...(await Promise.all([1, 2].map(() => page.context().newPage())))];
    const places = [['overview', 'Overview', ['Healthy', 'Connections']], ['queues', 'Queues', ['3 queues']], ['queue/orders', 'orders', ['Longest wait']]];
    await Promise.all(tabs.map((tab, n) => show(tab, broker, places[n][0], places[n][1])));
    await Promise.all(tabs.map((tab, n) => shows(tab, places[n][2])));
    // When each question was asked, by the clock of the pages themselves: however slow this machine is, they may not ask more.
    for (const tab of tabs) await tab.evaluate(() => performance.clearResourceTimings());
    const begun = await page.evaluate(() => Date.now());
    const asked = async () => (await Promise.all(tabs.map((tab) => tab.evaluate(() =>
      performance.getEntriesByType('resource').map((entry) => performance.timeOrigin + entry.startTime))))).flat().filter((time) => time >= begun);
    await until(async () => (await asked()).length >= 12, 'twelve questions');
    const times = (await asked()).sort((a, b) => a - b);
    const seconds = (times[times.length - 1] - begun) / 1000;
    check(times.length <= 2 * seconds + 3, `at most two questions a second of three tabs, not ${times.length} in ${seconds.toFixed(1)} s`);
    for (const tab of tabs.slice(1)) await tab.close();
  }],
]);
