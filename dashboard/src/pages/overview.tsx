// Everything at a glance: health, what goes in and out, what waits, the brokers, PostgreSQL.
import { useMemo } from 'preact/hooks';
import type { Replies } from '../generated/api';
import { bytes, count, milliseconds, percent, plural, rate, seconds, shortCount } from '../format';
import { useRange, useReply } from '../hooks';
import { useRights } from '../rights';
import { pushLine } from '../shell';
import { Badge, Card, Empty, Facts, Meter, Shown, Tile } from '../parts/basics';
import { Chart } from '../parts/chart';
import { href } from '../route';
import { fullPoints, timesOf } from '../series';

type Status = Replies['getStatus'];

function Health() {
  const health = useReply('health', {}, 3_000);
  const good = health.data?.status === 'healthy' && !health.error;
  return (
    <Tile label="Broker" value={good ? 'Healthy' : health.at === 0 ? '…' : health.error?.status ? 'Cut off' : 'Away'} tone={health.at === 0 ? 'quiet' : good ? 'good' : 'bad'}
      note={good ? `version ${health.data?.version}` : health.at === 0 ? ' ' : health.error?.code === 'database_unavailable' ? 'without PostgreSQL' : 'see above'} href={href('brokers')} />
  );
}

function Charts(props: { status: Status }) {
  const { status } = props;
  const [times, flow, lag, trouble] = useMemo(() => {
    const points = fullPoints(status.throughput, (point) => point.timestamp, status.bucketMinutes);
    const perSecond = (amount: number) => amount / (status.bucketMinutes * 60);
    return [
      timesOf(points, (point) => point.timestamp),
      [
        { label: 'In', colour: 'line-1', values: points.map((point) => point.ingestedPerSecond) },
        { label: 'Out', colour: 'line-2', values: points.map((point) => point.processedPerSecond) },
      ],
      [
        { label: 'Average', colour: 'line-1', values: points.map((point) => point.avgLagMs) },
        { label: 'Longest', colour: 'line-3', values: points.map((point) => point.maxLagMs) },
      ],
      [
        { label: 'Tried again', colour: 'line-3', values: points.map((point) => perSecond(point.failed)) },
        { label: 'Dead letters', colour: 'line-4', values: points.map((point) => perSecond(point.deadLetter)) },
      ],
    ] as const;
  }, [status]);
  return (
    <div class="charts">
      <Card><Chart title="Messages in and out" times={times} lines={[...flow]} format={rate} /></Card>
      <Card><Chart title="Age on delivery" times={times} lines={[...lag]} format={milliseconds} least={10} /></Card>
      <Card><Chart title="Failures" times={times} lines={[...trouble]} format={rate} /></Card>
    </div>
  );
}

function Postgres() {
  const postgres = useReply('getPostgresStats', {}, 15_000);
  const { admin } = useRights();
  const environment = useReply('getEnvironment', admin ? {} : null, 30_000);
  return (
    <Card title="PostgreSQL" note={postgres.data ? `version ${postgres.data.version}` : undefined} class="tall">
      <Shown of={postgres} what="the state of PostgreSQL">
        {(data) => {
          const dead = data.deadTuples.reduce((sum, table) => sum + table.deadTuples, 0);
          const live = data.deadTuples.reduce((sum, table) => sum + table.liveTuples, 0);
          return (
            <>
              <Meter label="Connections" value={data.connections.total} max={data.connections.max}
                text={`${data.connections.total} of ${data.connections.max}`} tone={data.connections.total > data.connections.max * 0.8 ? 'bad' : 'accent'} />
              <Meter label="Cache hits" value={data.databaseCache.cacheHitRatio ?? 0} max={100}
                text={data.databaseCache.cacheHitRatio === null ? '–' : percent(data.databaseCache.cacheHitRatio)} />
              <Meter label="Dead rows" value={dead} max={dead + live} text={dead + live > 0 ? percent((100 * dead) / (dead + live)) : '–'}
                tone={dead > live && dead > 100_000 ? 'warn' : 'accent'} />
              {environment.data?.disks.map((disk) => (
                <Meter key={disk.path} label={`Disk of ${disk.path.split('/').pop()}`} title={disk.path} value={disk.totalBytes - disk.freeBytes} max={disk.totalBytes}
                  text={`${bytes(disk.freeBytes)} free`} tone={disk.freeBytes < disk.totalBytes * 0.1 ? 'bad' : 'accent'} />
              ))}
              <Facts rows={[
                ['Size', bytes(data.databaseSizeBytes)],
                ['WAL', data.wal ? `${bytes(data.wal.bytesPerSecond)}/s` : '–'],
                ['Oldest snapshot (xmin age)', data.transactions.xminAge > 1_000_000
                  ? <Badge tone="warn">{count(data.transactions.xminAge)} transactions</Badge> : `${count(data.transactions.xminAge)} transactions`],
                ['Longest transaction', seconds(data.transactions.longestSeconds)],
                ['Standbys', data.replication.standbys.length === 0 ? 'none' : plural(data.replication.standbys.length, 'standby', 'standbys')],
              ]} />
            </>
          );
        }}
      </Shown>
    </Card>
  );
}

function Brokers(props: { status: Status }) {
  return (
    <Card title="Brokers" note={plural(props.status.workers.length, 'broker')} class="tall">
      {props.status.workers.length === 0 ? <p class="muted">The first report comes within a minute of the start.</p> : (
        <ul class="plain-list">
          {props.status.workers.map((worker) => (
            <li key={`${worker.hostname}:${worker.workerId}`}>
              <a href={href('brokers')}><strong>{worker.hostname}:{worker.workerId}</strong></a>
              <span class="muted">
                {plural(worker.workers, 'worker')}, {shortCount(worker.freeSlots)} of {shortCount(worker.dbConnections)} slots free,{' '}
                {shortCount(worker.waitingPolls)} pops waiting
              </span>
              {worker.dbErrors > 0 && <Badge tone="warn">{plural(worker.dbErrors, 'database error')}</Badge>}
              {worker.bufferedMessages > 0 && <Badge tone="warn">{count(worker.bufferedMessages)} buffered</Badge>}
            </li>
          ))}
        </ul>
      )}
      {props.status.deadLetterQueue.topErrors.length > 0 && (
        <>
          <h3>Why messages died</h3>
          <ul class="plain-list">
            {props.status.deadLetterQueue.topErrors.slice(0, 5).map((top) => (
              <li key={top.error}><a href={href('dead-letters')}>{top.error || '(no text)'}</a><span class="number">{count(top.count)}</span></li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

export function OverviewPage() {
  const range = useRange();
  const status = useReply('getStatus', range.values, 5_000);
  const overview = useReply('getOverview', {}, 3_000);
  const now = overview.data;
  return (
    <>
      <h1>Overview</h1>
      <div class="tiles">
        <Health />
        <Tile label="In" value={now ? rate(now.throughput.ingestedPerSecond) : '…'} note="messages pushed" />
        <Tile label="Out" value={now ? rate(now.throughput.processedPerSecond) : '…'} note="messages settled" />
        <Tile label="Waiting" value={now ? shortCount(now.messages.pending) : '…'} href={href('queues', [], { sort: 'pending' })}
          note={now ? `in ${plural(now.queues, 'queue')}, ${plural(now.partitions, 'partition')}` : ''} />
        <Tile label="Longest wait" value={now ? seconds(now.lag.time.max) : '…'} tone={now && now.lag.time.max > 300 ? 'warn' : undefined}
          href={href('queues', [], { sort: 'lag' })} note={now ? `median ${seconds(now.lag.time.median)}` : ''} />
        <Tile label="Dead letters" value={now ? shortCount(now.messages.deadLetter) : '…'} tone={now && now.messages.deadLetter > 0 ? 'warn' : undefined}
          href={href('dead-letters')} note={now ? `${plural(now.messages.failed, 'message')} to be tried again` : ''} />
      </div>
      {now?.queues === 0 && (
        <Card>
          <Empty title="Nothing has been pushed yet" command={pushLine()}>Push the first message, and its queue appears here:</Empty>
        </Card>
      )}
      <Shown of={status} what="what happened lately">
        {(data) => (
          <>
            <Charts status={data} />
            <div class="columns">
              <Brokers status={data} />
              <Postgres />
            </div>
          </>
        )}
      </Shown>
    </>
  );
}
