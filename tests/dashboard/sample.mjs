// Data that every page has something to show of: orders with two groups, dead letters, traces, a streaming query.

export async function fill(broker) {
  await broker.post('/api/v1/configure', { queue: 'orders', options: { retryLimit: 0, leaseTime: 3600 } });
  const items = [];
  for (let customer = 1; customer <= 60; ++customer) {
    for (let order = 0; order < 1 + ((customer * 7) % 23); ++order) {
      items.push({ queue: 'orders', partition: `customer-${customer}`, transactionId: `order-${customer}-${order}`,
        payload: { customer, total: 12.5 * order, big: '@', lines: [{ sku: 'A-1', count: 2 }, { sku: 'B-7', count: 1 }] } });
    }
  }
  // A number that a script would round.
  const body = JSON.stringify({ items }).replaceAll('"@"', '9007199254740993');
  const reply = await fetch(`${broker.url}/api/v1/push`, { method: 'POST', body, headers: broker.token ? { Authorization: `Bearer ${broker.token}` } : {} });
  const stored = await reply.json();
  await broker.post('/api/v1/push', { items: [
    ...[1, 2, 3].map((n) => ({ queue: 'shop.mails', partition: 'Default', payload: { mail: n } })),
    { queue: 'totals', payload: { total: 1 } }] });

  // billing fails three orders and completes some; shipping reads a little and holds a lease.
  const failed = await broker.get('/api/v1/pop/queue/orders/partition/customer-1?batch=3&consumerGroup=billing');
  await broker.post('/api/v1/ack/batch', { consumerGroup: 'billing', acknowledgments: failed.messages.map((message, n) => ({
    transactionId: message.transactionId, partitionId: message.partitionId, leaseId: message.leaseId, status: 'failed',
    error: n === 0 ? 'the card was declined' : 'no such account' })) });
  await broker.get('/api/v1/pop/queue/orders?batch=40&partitions=10&consumerGroup=billing&autoAck=true');
  await broker.get('/api/v1/pop/queue/orders/partition/customer-2?batch=2&consumerGroup=shipping');
  await broker.get('/api/v1/pop/queue/shop.mails?batch=1&autoAck=true');

  const traced = failed.messages[0];
  for (const [eventType, text] of [['step', 'the card was charged'], ['error', 'the card was declined']]) {
    await broker.post('/api/v1/traces', { transactionId: traced.transactionId, partitionId: traced.partitionId, consumerGroup: 'billing',
      eventType, traceNames: ['checkout-1'], data: { text } });
  }
  const query = await broker.post('/streams/v1/queries', { name: 'totals-by-customer', source_queue: 'orders', sink_queue: 'totals', config_hash: '6f1c' });
  await broker.post('/streams/v1/cycle', { query_id: query.query_id, partition_id: traced.partitionId, push_items: [], ack: null,
    state_ops: [{ type: 'upsert', key: 'sum', value: { total: 87.5, windowEnd: 1893456000000 } }, { type: 'upsert', key: 'count', value: 7 }] });
  await broker.post('/api/v1/stats/refresh');
  return { traced, query, stored };
}
