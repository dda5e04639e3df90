// Ten thousand queues, and a hundred thousand partitions in one: the pages stay short, searched and sorted at once.
import { check, checkPage, holds, openPage, run, say, show, shows, startBroker, startBrowser } from './support.mjs';

const kQueues = 10_000;
const kPartitions = 100_000;
const kBatch = 20_000;

let broker, browser, page;

async function push(count, item) {
  for (let first = 0; first < count; first += kBatch) {
    const items = Array.from({ length: Math.min(kBatch, count - first) }, (_, n) => item(first + n));
    const results = await broker.post('/api/v1/push', { items });
    check(results.every((result) => result.status === 'queued'), 'every message stored');
  }
}

await run([
  ['a broker, a browser', async () => {
    [broker, browser] = await Promise.all([startBroker(), startBrowser()]);
    page = await openPage(browser);
  }],
  [`${kQueues} queues and ${kPartitions} partitions`, async () => {
    await push(kQueues, (n) => ({ queue: `queue-${String(n).padStart(5, '0')}`, payload: n }));
    say('queues are there');
    await push(kPartitions, (n) => ({ queue: 'wide', partition: `lane-${String(n).padStart(6, '0')}`, payload: n }));
    say('partitions are there');
    // The slowest lane: more waits there than anywhere else.
    await broker.post('/api/v1/push', { items: Array.from({ length: 1500 }, (_, n) => ({ queue: 'wide', partition: 'lane-000007', payload: n })) });
    await broker.get('/api/v1/pop/queue/wide/partition/lane-000001?consumerGroup=readers');
    await broker.post('/api/v1/stats/refresh');
  }],
  ['all queues are found, few are in the page', async () => {
    await show(page, broker, 'queues', 'Queues');
    await shows(page, '10,001 queues');
    const rows = await page.locator('tbody tr').count();
    check(rows < 120, `only the rows in sight, not ${rows}`);
    await page.getByLabel('Search').fill('queue-09998');
    await shows(page, ['1 of 10,001 queues', 'queue-09998']);
    await page.getByLabel('Search').fill('');
    await shows(page, '10,001 queues');
    await page.getByRole('button', { name: 'Waiting' }).click();
    await holds(page, () => document.querySelector('tbody th a')?.textContent === 'wide');
    await page.locator('.table-box.long').evaluate((box) => { box.scrollTop = box.scrollHeight; });
    await holds(page, () => /queue-\d+/.test([...document.querySelectorAll('tbody th a')].pop()?.textContent ?? ''));
  }],
  ['the map of partitions reaches the last of them', async () => {
    await show(page, broker, 'queue/wide?order=name', 'wide');
    await holds(page, () => (document.querySelector('.heat > div')?.clientHeight ?? 0) > 20_000);
    await page.locator('.heat').evaluate((box) => { box.scrollTop = box.scrollHeight; });
    const canvas = page.locator('.heat canvas');
    await holds(page, () => {
      const box = document.querySelector('.heat');
      const cell = box?.querySelector('canvas')?.getBoundingClientRect();
      if (!box || !cell) return false;
      box.querySelector('canvas')?.dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX: cell.left + 5, clientY: cell.top + cell.height - 40 }));
      return /lane-09\d{4}: /.test(document.querySelector('#heat-says')?.textContent ?? '');
    });
    check((await canvas.count()) === 1, 'one canvas for all');
  }],
  ['the stuck ones come first, and one is explained', async () => {
    await page.getByRole('button', { name: 'Stuck first' }).click();
    await shows(page, 'Longest wait: lane-');
    await page.getByLabel('Open a partition by its name').fill('lane-000007');
    await page.getByRole('button', { name: 'Open' }).click();
    await shows(page, ['Why does it not move?', '1,501 messages']);
    checkPage(page);
  }],
]);
