// The brokers: what they do, how busy they are, whom they know, and the two switches of maintenance.
import { useMemo, useState } from 'preact/hooks';
import { ask } from '../api';
import { bytes, count, milliseconds, moment, percent, plural, rate, seconds, shortCount } from '../format';
import { useRange, useReply } from '../hooks';
import { useMay, useRights } from '../rights';
import { Badge, Card, Empty, Facts, Problem, Shown, Tile } from '../parts/basics';
import { Chart } from '../parts/chart';
import { Confirm } from '../parts/confirm';
import { Table } from '../parts/table';
import { fullPoints, timesOf } from '../series';

function Switches() {
  const maintenance = useReply('getMaintenance', {}, 5_000);
  const [asking, setAsking] = useState<'' | 'push' | 'pop'>('');
  const paused = { push: maintenance.data?.maintenanceMode ?? false, pop: maintenance.data?.popMaintenanceMode ?? false };
  const lines = {
    push: ['Pushes', 'While paused, every broker keeps them in its file buffer and stores them later.'],
    pop: ['Pops', 'While paused, consumers find nothing and wait.'],
  } as const;
  return (
    <Card title="Maintenance" note="for every broker of this database">
      <Shown of={maintenance} what="the switches">
        {(data) => (
          <>
            {(['push', 'pop'] as const).map((what) => (
              <div class="switch" key={what}>
                <div><strong>{lines[what][0]}</strong> {paused[what] ? <Badge tone="warn">paused</Badge> : <Badge tone="good">running</Badge>}<p class="muted">{lines[what][1]}</p></div>
                <button type="button" class={paused[what] ? 'primary' : ''} onClick={() => setAsking(what)}>{paused[what] ? 'Resume' : 'Pause'} {what === 'push' ? 'pushes' : 'pops'}</button>
              </div>
            ))}
            <Facts rows={[
              ['In this broker’s buffer', `${plural(data.bufferedMessages, 'message')}`],
              ['Refused for good', `${plural(data.bufferStats.failedCount, 'message')} in ${plural(data.bufferStats.failedFiles.count, 'file')}`],
              ['Buffer', data.bufferHealthy ? <Badge tone="good">healthy</Badge> : <Badge tone="bad">cannot write</Badge>],
            ]} />
          </>
        )}
      </Shown>
      {asking && (
        <Confirm title={`${paused[asking] ? 'Resume' : 'Pause'} ${lines[asking][0].toLowerCase()}`} button={paused[asking] ? 'Resume' : 'Pause'} tone={paused[asking] ? 'primary' : 'danger'}
          onClose={() => setAsking('')}
          run={async () => { await ask(asking === 'push' ? 'setPushMaintenance' : 'setPopMaintenance', {}, { enabled: !paused[asking] }); }}>
          <p>{lines[asking][1]} This is for every broker at once.</p>
        </Confirm>
      )}
    </Card>
  );
}

function Peers() {
  const state = useReply('getSharedState', {}, 5_000);
  return (
    <Card title="This broker">
      <Shown of={state} what="what the broker knows">
        {(data) => (
          <>
            <Facts rows={[
              ['Workers', count(data.local_sidecars)],
              ['Pops that wait', `${count(data.waiting_pops)} of ${plural(data.waiting_groups, 'group')}`],
              ['Groups backed off', `${count(data.group_backoff.groups_backed_off)} of ${count(data.group_backoff.groups_tracked)}`],
              ['Cache of segments', bytes(data.caches.segment_bytes)],
              ['Partitions known', count(data.caches.partition_ids)],
            ]} />
            <h3>Peers</h3>
            {data.peers.length === 0 ? <p class="muted">None is named (QUEEN_UDP_PEERS); brokers of one database find each other’s messages all the same.</p> : (
              <Table label="Peers" rows={data.peers} rowKey={(peer) => peer.address} columns={[
                { key: 'name', title: 'Peer', cell: (peer) => peer.name || peer.address },
                { key: 'state', title: 'State', cell: (peer) => <Badge tone={peer.state === 'dead' ? 'bad' : peer.state === 'unknown' ? 'warn' : 'good'}>{peer.state}</Badge> },
                { key: 'heard', title: 'Heard', number: true, cell: (peer) => (peer.last_heard_ms_ago === null ? '–' : `${milliseconds(peer.last_heard_ms_ago)} ago`) },
              ]} />
            )}
          </>
        )}
      </Shown>
    </Card>
  );
}

function Charts() {
  const range = useRange();
  const workers = useReply('getWorkerMetrics', range.values, 10_000);
  const system = useReply('getSystemMetrics', range.values, 15_000);
  const lines = useMemo(() => {
    const data = workers.data;
    if (!data) return null;
    const points = fullPoints(data.timeSeries, (point) => point.timestamp, data.bucketMinutes);
    const ratio = (messages: number, requests: number) => (requests > 0 ? messages / requests : 0);
    const column = (label: string, place: number, value: (point: (typeof points)[number]) => number) =>
      ({ label, colour: `line-${place}`, values: points.map(value) });
    return {
      times: timesOf(points, (point) => point.timestamp),
      flow: [column('Push', 1, (p) => p.pushPerSecond), column('Pop', 2, (p) => p.popPerSecond), column('Ack', 3, (p) => p.ackPerSecond)],
      batches: [column('Push', 1, (p) => ratio(p.pushMessages, p.pushRequests)), column('Pop', 2, (p) => ratio(p.popMessages, p.popRequests))],
      slots: [column('Average free', 2, (p) => p.avgFreeSlots), column('Least free', 3, (p) => p.minFreeSlots)],
      calls: [column('PostgreSQL call', 1, (p) => p.avgCallMs), column('Event loop', 3, (p) => p.maxEventLoopLagMs)],
      errors: [column('Errors of PostgreSQL', 4, (p) => p.dbErrors), column('Acks refused', 3, (p) => p.ackFailed)],
    };
  }, [workers.data]);
  const processes = useMemo(() => {
    const replica = system.data?.replicas[0];
    if (!replica || !system.data) return null;
    const points = fullPoints(replica.timeSeries, (point) => point.timestamp, system.data.bucketMinutes);
    const value = (point: (typeof points)[number], number: number) => (point.sampleCount > 0 ? number : null);
    return {
      times: timesOf(points, (point) => point.timestamp),
      cpu: [{ label: 'Processor', colour: 'line-1', values: points.map((p) => value(p, (p.metrics.cpu.user_us.avg + p.metrics.cpu.system_us.avg) / 100)) }],
      memory: [{ label: 'Memory', colour: 'line-2', values: points.map((p) => value(p, p.metrics.memory.rss_bytes.avg)) }],
    };
  }, [system.data]);
  if (workers.error && !workers.data) return <Problem message={workers.error.message} />;
  const none = { times: [], lines: [] };
  return (
    <div class="charts">
      <Card><Chart title="Messages" {...(lines ? { times: lines.times, lines: lines.flow } : none)} format={rate} /></Card>
      <Card><Chart title="Messages in one request" {...(lines ? { times: lines.times, lines: lines.batches } : none)} format={shortCount} /></Card>
      <Card><Chart title="Slots to PostgreSQL" {...(lines ? { times: lines.times, lines: lines.slots } : none)} format={shortCount} /></Card>
      <Card><Chart title="Time of a call" {...(lines ? { times: lines.times, lines: lines.calls } : none)} format={milliseconds} least={10} /></Card>
      <Card><Chart title="Processor, first broker" {...(processes ? { times: processes.times, lines: processes.cpu } : none)} format={percent} /></Card>
      <Card><Chart title="Memory, first broker" {...(processes ? { times: processes.times, lines: processes.memory } : none)} format={bytes} /></Card>
      <Card><Chart title="Errors in a point" {...(lines ? { times: lines.times, lines: lines.errors } : none)} format={shortCount} /></Card>
    </div>
  );
}

export function BrokersPage() {
  const range = useRange();
  const workers = useReply('getWorkerMetrics', range.values, 10_000);
  const metrics = useReply('getMetrics', {}, 3_000);
  const { admin } = useRights();
  const maySwitch = useMay('setPushMaintenance');
  const now = metrics.data;
  const checks = now?.sidecar.has_pending;
  return (
    <>
      <h1>Brokers</h1>
      <div class="tiles">
        <Tile label="Up for" value={now ? seconds(now.uptime) : '…'} note="this broker" />
        <Tile label="Requests" value={now ? rate(now.requests.rate) : '…'} note={now ? `${shortCount(now.requests.total)} in all` : ''} />
        <Tile label="Slots busy" value={now ? `${now.sidecar.connections.busy} of ${now.sidecar.connections.total}` : '…'} note="to PostgreSQL" />
        <Tile label="On the way" value={now ? shortCount(now.sidecar.queue.pending) : '…'} note="messages, acks, pops" />
        <Tile label="Pops per call" value={now ? now.sidecar.pop_batch.avg_items.toFixed(1) : '…'} note={now ? `${milliseconds(now.sidecar.pop_batch.avg_ms)} a call` : ''} />
        <Tile label="Memory" value={now ? bytes(now.memory.rss) : '…'} note={checks && checks.checks > 0 ? `${percent((100 * checks.hits) / checks.checks)} of checks found messages` : ''} />
      </div>
      <Card title="All brokers of this database">
        <Shown of={workers} what="brokers">
          {(data) => data.workers.length === 0 ? <Empty title="No report yet">Brokers report once a minute.</Empty> : (
            <Table label="Brokers" rows={data.workers} rowKey={(worker) => `${worker.hostname}:${worker.workerId}`} columns={[
              { key: 'name', title: 'Broker', cell: (worker) => `${worker.hostname}:${worker.workerId}` },
              { key: 'workers', title: 'Workers', number: true, cell: (worker) => count(worker.workers) },
              { key: 'slots', title: 'Slots free', number: true, cell: (worker) => `${shortCount(worker.freeSlots)} of ${shortCount(worker.dbConnections)}` },
              { key: 'queue', title: 'On the way', number: true, wide: true, cell: (worker) => shortCount(worker.jobQueueSize) },
              { key: 'polls', title: 'Pops that wait', number: true, wide: true, cell: (worker) => shortCount(worker.waitingPolls) },
              { key: 'buffer', title: 'Buffered', number: true, wide: true, cell: (worker) => shortCount(worker.bufferedMessages) },
              { key: 'loop', title: 'Loop delay', number: true, wide: true, cell: (worker) => milliseconds(worker.maxEventLoopLagMs) },
              { key: 'errors', title: 'Errors', number: true, cell: (worker) => (worker.dbErrors > 0 ? <Badge tone="warn">{count(worker.dbErrors)}</Badge> : '0') },
              { key: 'seen', title: 'Last report', wide: true, cell: (worker) => moment(worker.lastSeen) },
            ]} />
          )}
        </Shown>
      </Card>
      {admin && <div class="columns">{maySwitch && <Switches />}<Peers /></div>}
      <Charts />
    </>
  );
}
