// Every action of the dashboard, its effect checked through the API, and a broker that is killed and comes back while
// the page is open.
import { check, checkPage, headed, holds, openPage, run, show, shows, startBroker, startBrowser, until } from './support.mjs';
import { fill } from './sample.mjs';

let broker, page, sample;
const button = (name) => page.getByRole('button', { name, exact: true });
const dialog = () => page.getByRole('dialog');
const inDialog = (name) => dialog().getByRole('button', { name, exact: true });
const gone = () => dialog().waitFor({ state: 'detached' });
const status = (reply) => reply.status;

async function messageStatus(partitionId, transactionId) {
  return broker.get(`/api/v1/messages/${partitionId}/${transactionId}`).then(status);
}

await run([
  ['a broker with data, a browser', async () => {
    let browser;
    [broker, browser] = await Promise.all([startBroker(), startBrowser()]);
    sample = await fill(broker);
    page = await openPage(browser);
  }],
  ['a queue is made with options', async () => {
    await show(page, broker, 'queues', 'Queues');
    await button('Make a queue').click();
    await dialog().getByLabel('Name').fill('made-here');
    await dialog().getByLabel('Lease (s)').fill('45');
    await dialog().getByLabel('Retries (times)').fill('7');
    await inDialog('Make it').click();
    await page.locator('h1', { hasText: 'made-here' }).waitFor();
    const made = await until(() => broker.get('/api/v1/resources/queues/made-here'), 'the queue');
    check(made.options.leaseTime === 45 && made.options.retryLimit === 7, 'the options that were typed');
  }],
  ['its options are changed', async () => {
    await button('Configure').click();
    await dialog().getByLabel('Priority').fill('3');
    await inDialog('Save').click();
    await gone();
    const { options } = await broker.get('/api/v1/resources/queues/made-here');
    check(options.priority === 3 && options.leaseTime === 45, 'the one option changed, the others as they were');
  }],
  ['a message is pushed by hand, digit by digit', async () => {
    await show(page, broker, 'queue/made-here?tab=push', 'made-here');
    await page.getByLabel('Partition').fill('by-hand');
    await page.getByLabel('Transaction id').fill('hand-1');
    await page.getByLabel('Payload').fill('{"n": 12345678901234567890}');
    await button('Push').last().click();
    await shows(page, 'Stored as hand-1.');
    const popped = await fetch(`${broker.url}/api/v1/pop/queue/made-here?consumerGroup=look`).then((reply) => reply.text());
    check(popped.includes('12345678901234567890') && popped.includes('"partition":"by-hand"'), 'the message as it was typed');
    await button('Push').last().click();
    await shows(page, 'nothing was stored');
  }],
  ['it comes by in the live tail', async () => {
    await show(page, broker, 'queue/made-here?tab=tail', 'made-here');
    await shows(page, 'hand-1');
    await broker.post('/api/v1/push', { items: [{ queue: 'made-here', partition: 'later', transactionId: 'hand-2', payload: 2 }] });
    await shows(page, 'hand-2');
  }],
  ['a message is made a dead letter, tried again, deleted', async () => {
    const { messages } = await broker.get('/api/v1/messages?queue=orders&partition=customer-59&limit=1000');
    const { partitionId, transactionId } = messages[messages.length - 1];
    await broker.get('/api/v1/pop/queue/orders/partition/customer-59?batch=1&consumerGroup=kill');
    await show(page, broker, `message/${partitionId}/${transactionId}`, transactionId);
    await button('Dead letter').click();
    await dialog().getByLabel('For the group').selectOption('kill');
    await dialog().getByLabel('Why').fill('cannot be read');
    await inDialog('Make a dead letter').click();
    await gone();
    check((await messageStatus(partitionId, transactionId)) === 'dead_letter', 'it is a dead letter');
    await shows(page, 'cannot be read');
    await button('Try again').click();
    await shows(page, 'Pushed again for 1 group.');
    const left = await broker.get('/api/v1/dlq?queue=orders&consumerGroup=kill');
    check(left.total === 0, 'the dead letter is gone');
    await button('Delete').click();
    await inDialog('Delete the message').click();
    await shows(page, 'There is no such message');
    await broker.get(`/api/v1/messages/${partitionId}/${transactionId}`, 404);
  }],
  ['dead letters are looked into, compared, one and then all are pushed again', async () => {
    await show(page, broker, 'dead-letters?queue=orders', 'Dead letters');
    await shows(page, '3 messages match');
    await page.getByLabel('Pick order-1-0', { exact: true }).check();
    await page.getByLabel('Pick order-1-1', { exact: true }).check();
    await button('Compare').click();
    await shows(page, ['the card was declined', 'no such account'], 'dialog');
    await page.keyboard.press('Escape');
    await gone();
    await page.getByLabel('Pick order-1-1', { exact: true }).uncheck();
    await button('Redrive picked').click();
    await shows(page, '1 of 1 dead letter pushed again. Done.');
    await until(async () => (await broker.get('/api/v1/dlq?queue=orders')).total === 2, 'two dead letters left');
    await shows(page, '2 messages match');
    await button('Redrive all that match').click();
    await inDialog('Redrive 2').click();
    await shows(page, '2 of 2 dead letters pushed again. Done.');
    check((await broker.get('/api/v1/dlq?queue=orders')).total === 0, 'none is left');
    await shows(page, 'No dead letter matches');
  }],
  ['dead letters are deleted', async () => {
    const popped = await broker.get('/api/v1/pop/queue/orders/partition/customer-9?batch=2&consumerGroup=dies');
    await broker.post('/api/v1/ack/batch', { consumerGroup: 'dies', acknowledgments: popped.messages.map((message) => ({
      transactionId: message.transactionId, partitionId: message.partitionId, leaseId: message.leaseId, status: 'dlq' })) });
    await show(page, broker, 'dead-letters?group=dies', 'Dead letters');
    await shows(page, '2 messages match');
    await button('Delete all that match').click();
    await dialog().getByLabel('Type delete to go on').fill('delete');
    await inDialog('Delete them').click();
    await gone();
    check((await broker.get('/api/v1/dlq?consumerGroup=dies')).total === 0, 'none is left');
  }],
  ['a group is moved, after a preview', async () => {
    await broker.get('/api/v1/pop/queue/shop.mails?batch=10&consumerGroup=reader&autoAck=true');
    await show(page, broker, 'group/reader/shop.mails', 'reader');
    await button('Move (seek)').click();
    await dialog().getByLabel('To').selectOption('begin');
    await inDialog('Preview').click();
    await shows(page, ['What it will do', '3 will be delivered again'], 'dialog');
    await inDialog('Move the group').click();
    await shows(page, 'Moved in 1 partition.', 'dialog');
    const again = await broker.get('/api/v1/pop/queue/shop.mails?batch=10&consumerGroup=reader&autoAck=true');
    check(again.messages.length === 3, 'all three are delivered again');
    await inDialog('Close').first().click();
    await gone();
  }],
  ['a group is deleted with its name typed', async () => {
    await button('Delete').click();
    check(await inDialog('Delete the group').isDisabled(), 'nothing before the name is typed');
    await dialog().getByLabel('Type reader to go on').fill('reader');
    await inDialog('Delete the group').click();
    await headed(page, 'Groups');
    const groups = await broker.get('/api/v1/consumer-groups');
    check(!groups.some((group) => group.name === 'reader'), 'the group is gone');
  }],
  ['the state of a stream is read', async () => {
    await show(page, broker, `stream/${sample.query.query_id}`, 'totals-by-customer');
    await page.getByLabel('Partition').selectOption({ label: 'customer-1 (2 rows)' });
    await button('Show').click();
    await shows(page, ['sum', '87.5', '1893456000000']);
  }],
  ['pushes and pops are paused and resumed', async () => {
    await show(page, broker, 'brokers', 'Brokers');
    for (const what of ['pushes', 'pops']) {
      const paused = async () => (await broker.get('/api/v1/system/maintenance'))[what === 'pushes' ? 'maintenanceMode' : 'popMaintenanceMode'];
      await button(`Pause ${what}`).click();
      await inDialog('Pause').click();
      await gone();
      check((await paused()) === true, `${what} are paused`);
      await shows(page, `${what === 'pushes' ? 'Pushes' : 'Pops'} are paused.`, '.banners');
      await button(`Resume ${what}`).click();
      await inDialog('Resume').click();
      await gone();
      check((await paused()) === false, `${what} go on`);
    }
  }],
  ['a partition and a queue are cleared and deleted', async () => {
    await show(page, broker, 'partition/made-here/later', 'later');
    await button('Delete').click();
    await dialog().getByLabel('Type later to go on').fill('later');
    await inDialog('Delete the partition').click();
    await headed(page, 'Queues / made-here');
    const { partitions } = await broker.get('/api/v1/resources/queues/made-here');
    check(!partitions.some((one) => one.name === 'later'), 'the partition is gone');
    await button('Clear').click();
    await dialog().getByLabel('Type made-here to go on').fill('made-here');
    await inDialog('Remove the messages').click();
    await gone();
    check((await broker.get('/api/v1/resources/queues/made-here/depth')).depth === 0, 'nothing waits');
    await button('Delete').click();
    await dialog().getByLabel('Type made-here to go on').fill('made-here');
    await inDialog('Delete the queue').click();
    await headed(page, 'Queues');
    await broker.get('/api/v1/resources/queues/made-here', 404);
  }],
  ['the broker is killed and comes back', async () => {
    await show(page, broker, 'overview', 'Overview');
    await shows(page, ['Healthy', 'Messages in and out']);
    await broker.kill();
    await shows(page, 'The broker does not answer.', '.banners');
    await shows(page, 'Messages in and out');
    await broker.start();
    await holds(page, () => !document.querySelector('.banner.bad'));
    await shows(page, 'Healthy');
    await broker.post('/api/v1/push', { items: [{ queue: 'after', payload: 1 }] });
    await show(page, broker, 'queues', 'Queues');
    await shows(page, 'after');
    checkPage(page);
  }],
]);
