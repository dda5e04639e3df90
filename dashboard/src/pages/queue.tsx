// One queue: its partitions as a map, its groups, what comes in, its options.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask } from '../api';
import { count, groupName, milliseconds, moment, plural, rate, seconds, shortCount } from '../format';
import { useAction, useRange, useReply } from '../hooks';
import { useMay } from '../rights';
import { pushLine } from '../shell';
import { Badge, Card, Choice, Empty, Facts, Field, Loading, Problem, Shown, Tabs, TextField, Tile } from '../parts/basics';
import { Chart } from '../parts/chart';
import { Confirm } from '../parts/confirm';
import { HeatMap } from '../parts/heat_map';
import { optionRows, QueueForm } from '../parts/queue_form';
import { StatusBadge } from '../parts/status_badge';
import { Table } from '../parts/table';
import { go, href, useParam } from '../route';
import { fullPoints, timesOf } from '../series';
import { GroupTable } from './groups';

function Partitions(props: { queue: string }) {
  const [order, setOrder] = useParam('order', 'lag');
  const [name, setName] = useState('');
  return (
    <Card title="Partitions" actions={
      <Tabs label="Order of partitions" value={order} onChange={setOrder} tabs={[['lag', 'Stuck first'], ['name', 'By name']]} />
    }>
      <HeatMap queue={props.queue} sort={order === 'name' ? 'name' : 'lag'} />
      <form class="inline-form" onSubmit={(event) => { event.preventDefault(); if (name) go('partition', [props.queue, name]); }}>
        <TextField label="Open a partition by its name" filter value={name} onInput={setName} />
        <button type="submit">Open</button>
      </form>
    </Card>
  );
}

function Tail(props: { queue: string }) {
  const [paused, setPaused] = useState(false);
  const messages = useReply('listMessages', paused ? null : { queue: props.queue, limit: 50 }, 1_000);
  const [kept, setKept] = useState(messages.data);
  useEffect(() => {
    if (messages.data) setKept(messages.data);
  }, [messages.data]);
  return (
    <Card title="Live tail" note="the newest 50, without consuming them"
      actions={<button type="button" onClick={() => setPaused(!paused)}>{paused ? 'Go on' : 'Pause'}</button>}>
      <Shown of={{ ...messages, data: kept }} what="messages">
        {(data) => data.messages.length === 0 ? (
          <Empty title="Nothing here yet" command={pushLine(props.queue)}>Push a message:</Empty>
        ) : (
          <Table label="Newest messages" rows={data.messages} rowKey={(message) => message.id} columns={[
            { key: 'time', title: 'Pushed', cell: (message) => moment(message.createdAt) },
            { key: 'partition', title: 'Partition', cell: (message) => <a href={href('partition', [message.queue, message.partition])}>{message.partition}</a> },
            { key: 'id', title: 'Transaction id', cell: (message) => <a href={href('message', [message.partitionId, message.transactionId])}>{message.transactionId}</a> },
            { key: 'status', title: 'Status', cell: (message) => <StatusBadge status={message.status} /> },
          ]} />
        )}
      </Shown>
    </Card>
  );
}

function Push(props: { queue: string }) {
  const [partition, setPartition] = useState('Default');
  const [payload, setPayload] = useState('{"hello": "world"}');
  const [name, setName] = useState('');
  const [said, setSaid] = useState('');
  const push = useAction(async () => {
    setSaid('');
    JSON.parse(payload);
    // The payload goes out as it was typed, digit by digit.
    const item = JSON.stringify({ queue: props.queue, partition, ...(name ? { transactionId: name } : {}) });
    const [result] = await ask('push', {}, `{"items":[${item.slice(0, -1)},"payload":${payload}}]}`);
    if (!result) throw new Error('The broker said nothing about the message.');
    if (result.status === 'failed') throw new Error(result.error);
    setSaid(result.status === 'queued' ? `Stored as ${result.transaction_id}.`
      : result.status === 'duplicate' ? 'A message of this transaction id is there already; nothing was stored.' : 'Buffered; it is stored when PostgreSQL is back.');
  });
  return (
    <Card title="Push a message">
      <form onSubmit={(event) => { event.preventDefault(); push.run(); }}>
        <div class="form-grid">
          <TextField label="Partition" value={partition} onInput={setPartition} required hint="Made when it does not exist. Messages of one partition stay in order." />
          <TextField label="Transaction id" value={name} onInput={setName} hint="Pushed twice, it is stored once. Empty: one is made." />
        </div>
        <Field label="Payload" hint="Any JSON value.">
          {(id) => <textarea id={id} rows={5} spellcheck={false} value={payload} onInput={(event) => setPayload(event.currentTarget.value)} />}
        </Field>
        {push.error && <Problem message={push.error} />}
        <footer>
          <span class="good" role="status">{said}</span>
          <button type="submit" class="primary" disabled={push.busy}>Push</button>
        </footer>
      </form>
    </Card>
  );
}

function Charts(props: { queue: string }) {
  const range = useRange();
  const points = useReply('getStatusAnalytics', { ...range.values, queue: props.queue }, 10_000);
  const lines = useMemo(() => {
    if (!points.data) return null;
    const full = fullPoints(points.data.dataPoints, (point) => point.timestamp, points.data.bucketMinutes);
    const perSecond = (amount: number) => amount / ((points.data?.bucketMinutes ?? 1) * 60);
    return {
      times: timesOf(full, (point) => point.timestamp),
      flow: [
        { label: 'In', colour: 'line-1', values: full.map((point) => perSecond(point.ingested)) },
        { label: 'Out', colour: 'line-2', values: full.map((point) => perSecond(point.processed)) },
        { label: 'Failed', colour: 'line-4', values: full.map((point) => perSecond(point.failed)) },
      ],
      lag: [
        { label: 'Average', colour: 'line-1', values: full.map((point) => point.avgLagMs) },
        { label: 'Longest', colour: 'line-3', values: full.map((point) => point.maxLagMs) },
      ],
    };
  }, [points.data]);
  return (
    <div class="charts">
      <Card>{lines ? <Chart title="Messages in and out" times={lines.times} lines={lines.flow} format={rate} /> : points.error ? <Problem message={points.error.message} /> : <Loading what="rates" />}</Card>
      <Card>{lines ? <Chart title="Age on delivery" times={lines.times} lines={lines.lag} format={milliseconds} least={10} /> : <Loading what="ages" />}</Card>
    </div>
  );
}

function Options(props: { queue: string; onChange: () => void }) {
  const detail = useReply('getQueue', { queue: props.queue, limit: 1 }, 5_000);
  const mayChange = useMay('configureQueue', props.queue);
  return (
    <Card title="Options" actions={mayChange && <button type="button" onClick={props.onChange}>Change</button>}>
      <Shown of={detail} what="the options">
        {(data) => (
          <Table label="Options" rows={optionRows(data.options)} rowKey={([name]) => name} columns={[
            { key: 'name', title: 'Option', cell: ([name]) => name },
            { key: 'value', title: 'Value', number: true, cell: ([, value]) => value },
            { key: 'meaning', title: 'What it does', wide: true, cell: ([, , meaning]) => <span class="muted">{meaning}</span> },
          ]} />
        )}
      </Shown>
    </Card>
  );
}

export function QueuePage(props: { queue: string }) {
  const { queue } = props;
  const [tab, setTab] = useParam('tab', 'partitions');
  const [asking, setAsking] = useState<'' | 'configure' | 'clear' | 'delete'>('');
  const status = useReply('listStatusQueues', { queue, limit: 1 }, 3_000);
  const detail = useReply('getQueue', { queue, limit: 1 }, 5_000);
  const [mayPush, mayDelete, mayConfigure] = [useMay('push', queue), useMay('deleteQueue', queue), useMay('configureQueue', queue)];
  const now = status.data?.queues.find((one) => one.name === queue);
  const missing = detail.error?.status === 404;
  const tabs: [string, string][] = [['partitions', 'Partitions'], ['groups', 'Groups'], ['tail', 'Live tail'], ['push', 'Push'], ['options', 'Options']];
  return (
    <>
      <div class="page-head">
        <h1><a href={href('queues')}>Queues</a> / {queue}</h1>
        {detail.data && <span class="muted">{detail.data.namespace && `namespace ${detail.data.namespace}, `}made {moment(detail.data.createdAt)}</span>}
        <span class="buttons">
          <a class="button" href={href('messages', [], { queue })}>Messages</a>
          {mayConfigure && detail.data && <button type="button" onClick={() => setAsking('configure')}>Configure</button>}
          {mayDelete && detail.data && <button type="button" onClick={() => setAsking('clear')}>Clear</button>}
          {mayDelete && detail.data && <button type="button" class="danger" onClick={() => setAsking('delete')}>Delete</button>}
        </span>
      </div>
      {missing ? (
        <Card>
          <Empty title={`There is no queue ${queue}`} command={pushLine(queue)}>A push makes it:</Empty>
        </Card>
      ) : (
        <>
          <div class="tiles">
            <Tile label="Waiting" value={now ? shortCount(now.messages.pending) : '…'} note={now ? `of ${plural(now.messages.total, 'message')}` : ''} />
            <Tile label="With consumers" value={now ? shortCount(now.messages.processing) : '…'} note="leased" />
            <Tile label="Oldest waits" value={now ? seconds(now.lagSeconds) : '…'} tone={now && now.lagSeconds > 300 ? 'warn' : undefined} />
            <Tile label="In" value={now ? rate(now.ingestedPerSecond) : '…'} note="over five minutes" />
            <Tile label="Out" value={now ? rate(now.processedPerSecond) : '…'} note="over five minutes" />
            <Tile label="Dead letters" value={now ? shortCount(now.messages.deadLetter) : '…'} tone={now && now.messages.deadLetter > 0 ? 'warn' : undefined}
              href={href('dead-letters', [], { queue })} note={now ? plural(now.partitions, 'partition') : ''} />
          </div>
          <Tabs label="About this queue" value={tab} onChange={setTab} tabs={mayPush ? tabs : tabs.filter(([name]) => name !== 'push')} />
          {tab === 'partitions' && <><Partitions queue={queue} /><Charts queue={queue} /></>}
          {tab === 'groups' && <Card title="Groups"><GroupTable queue={queue} /></Card>}
          {tab === 'tail' && <Tail queue={queue} />}
          {tab === 'push' && mayPush && <Push queue={queue} />}
          {tab === 'options' && <Options queue={queue} onChange={() => setAsking('configure')} />}
        </>
      )}
      {asking === 'configure' && <QueueForm queue={queue} options={detail.data?.options} onClose={() => setAsking('')} />}
      {asking === 'clear' && (
        <Confirm title={`Clear ${queue}`} button="Remove the messages" typed={queue} onClose={() => setAsking('')}
          run={async () => { await ask('clearQueue', { queue }); }}>
          <p>Removes every message that some group has still to consume, {now ? count(now.messages.pending) : 'all'} at the moment. The queue and its options stay. This cannot be undone.</p>
        </Confirm>
      )}
      {asking === 'delete' && (
        <Confirm title={`Delete ${queue}`} button="Delete the queue" typed={queue} onClose={() => setAsking('')}
          run={async () => { await ask('deleteQueue', { queue }); go('queues'); }}>
          <p>Deletes the queue with its messages, groups, dead letters and traces. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}

const causes: Record<string, { tone: 'good' | 'warn' | 'bad' | 'quiet'; text: string }> = {
  missing_queue: { tone: 'bad', text: 'No such queue' },
  missing_partition: { tone: 'bad', text: 'No such partition' },
  missing_group: { tone: 'bad', text: 'No such group' },
  pop_maintenance: { tone: 'warn', text: 'Pops are paused' },
  leased: { tone: 'warn', text: 'A consumer holds it' },
  retry: { tone: 'warn', text: 'Waits to be tried again' },
  delayed: { tone: 'warn', text: 'Delayed' },
  window: { tone: 'warn', text: 'Waits for its window' },
  empty: { tone: 'good', text: 'Everything is consumed' },
  ready: { tone: 'warn', text: 'Ready; nobody takes it' },
};

export function PartitionPage(props: { queue: string; partition: string }) {
  const { queue, partition } = props;
  const groups = useReply('listGroups', {}, 10_000);
  const names = useMemo(() => [...new Set((groups.data ?? []).filter((group) => group.queueName === queue).map((group) => group.name))], [groups.data, queue]);
  const [chosen, setGroup] = useParam('group');
  const group = chosen || names[0] || '__QUEUE_MODE__';
  const explained = useReply('explainLane', { queue, partition, consumerGroup: group }, 2_000);
  const messages = useReply('listMessages', { queue, partition, limit: 20 }, 3_000);
  const [deleting, setDeleting] = useState(false);
  const mayDelete = useMay('deletePartition', queue);
  return (
    <>
      <div class="page-head">
        <h1><a href={href('queue', [queue])}>{queue}</a> / {partition}</h1>
        {mayDelete && <span class="buttons"><button type="button" class="danger" onClick={() => setDeleting(true)}>Delete</button></span>}
      </div>
      <Card title="Why does it not move?" actions={
        <Choice label="Group" value={group} onChange={setGroup} options={[...new Set([group, ...names])].map((name) => [name, groupName(name)])} />
      }>
        <Shown of={explained} what="the explanation">
          {(data) => {
            const cause = causes[data.cause] ?? { tone: 'quiet' as const, text: data.cause };
            return (
              <>
                <div class={`verdict ${cause.tone}`}>
                  <Badge tone={cause.tone}>{cause.text}</Badge>
                  <p>{data.summary}</p>
                  <p class="muted">{data.next}</p>
                </div>
                <div class="columns">
                  <Facts rows={[
                    ['Cursor', data.cursor.offset === null ? '–' : `offset ${count(data.cursor.offset)} of ${count(data.cursor.end ?? 0)}`],
                    ['Waiting', data.cursor.pending === null ? '–' : plural(data.cursor.pending, 'message')],
                    ['Cursor moved', moment(data.cursor.lastChangeAt)],
                    ['First message', data.head && data.partitionId
                      ? <a href={href('message', [data.partitionId, data.head.transactionId])}>{data.head.transactionId}</a> : 'none'],
                    ['Its age', data.head ? seconds(data.head.ageSeconds) : '–'],
                    ['Its failures', data.head ? count(data.head.failures ?? 0) : '–'],
                    ['Last error', data.lastError ?? '–'],
                  ]} />
                  <Facts rows={[
                    ['Lease', data.lease ? <>{data.lease.live ? <Badge tone="accent">alive</Badge> : 'over'} <code>{data.lease.leaseId}</code></> : 'none'],
                    ['Lease ends', data.lease ? moment(data.lease.until) : '–'],
                    ['Delayed until', data.delay ? `${moment(data.delay.until)} (${data.delay.reason})` : '–'],
                    ['Dead letters', data.deadLetters.count
                      ? <a href={href('dead-letters', [], { queue, partition })}>{count(data.deadLetters.count)}</a> : '0'],
                    ['Failing', data.failing.length === 0 ? 'none' : data.failing.map((one) => `offset ${one.offset} (${one.failures}×)`).join(', ')],
                    ['Broker believes', data.broker.ready ? 'something is ready' : data.broker.held ? 'it is held' : 'nothing is ready'],
                    ['Pops that wait here', count(data.broker.waitingPops)],
                  ]} />
                </div>
              </>
            );
          }}
        </Shown>
      </Card>
      <Card title="Newest messages">
        <Shown of={messages} what="messages">
          {(data) => data.messages.length === 0 ? <Empty title="It holds no message" /> : (
            <Table label="Newest messages" rows={data.messages} rowKey={(message) => message.id} columns={[
              { key: 'id', title: 'Transaction id', cell: (message) => <a href={href('message', [message.partitionId, message.transactionId])}>{message.transactionId}</a> },
              { key: 'time', title: 'Pushed', cell: (message) => moment(message.createdAt) },
              { key: 'status', title: 'Status', cell: (message) => <StatusBadge status={message.status} /> },
            ]} />
          )}
        </Shown>
      </Card>
      {deleting && (
        <Confirm title={`Delete the partition ${partition}`} button="Delete the partition" typed={partition} onClose={() => setDeleting(false)}
          run={async () => { await ask('deletePartition', { queue, partition }); go('queue', [queue]); }}>
          <p>Deletes this partition and everything in it. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}
