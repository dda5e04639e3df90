// Consumer groups: how far behind each is, who holds what, and moving one to another time.
import { useState } from 'preact/hooks';
import { ask } from '../api';
import type { Replies } from '../generated/api';
import { count, groupName, moment, plural, seconds } from '../format';
import { useAction, useReply } from '../hooks';
import { useMay } from '../rights';
import { curlLine } from '../shell';
import { brokerNow } from '../clock';
import { Badge, Card, Choice, Dialog, Empty, Problem, Shown, TextField } from '../parts/basics';
import { Confirm } from '../parts/confirm';
import { LongTable, sortRows, Table, type Column } from '../parts/table';
import { href, useParam } from '../route';

type Group = Replies['listGroups'][number];
type Lane = { partition: string; workerId: string | null; lastConsumedAt: string | null; totalConsumed: number; offsetLag: number; timeLagSeconds: number; leaseActive: boolean };

const states = { Stable: 'good', Lagging: 'warn', Dead: 'bad' } as const;

export function GroupTable(props: { queue?: string; filter?: string }) {
  const groups = useReply('listGroups', {}, 5_000);
  const [sorted, setSorted] = useParam('sort', 'lag');
  const columns: Column<Group>[] = [
    { key: 'name', title: 'Group', sort: (group) => group.name, cell: (group) => <a href={href('group', [group.name, group.queueName])}>{groupName(group.name)}</a> },
    ...(props.queue === undefined ? [{ key: 'queue', title: 'Queue', sort: (group: Group) => group.queueName, cell: (group: Group) => <a href={href('queue', [group.queueName])}>{group.queueName}</a> }] : []),
    { key: 'state', title: 'State', sort: (group) => group.state, cell: (group) => <Badge tone={states[group.state]}>{group.state === 'Dead' ? 'nobody reads' : group.state.toLowerCase()}</Badge> },
    { key: 'lag', title: 'Behind', number: true, sort: (group) => group.totalLag, cell: (group) => count(group.totalLag) },
    { key: 'time', title: 'Oldest', number: true, sort: (group) => group.maxTimeLag, cell: (group) => (group.totalLag > 0 ? seconds(group.maxTimeLag) : '–') },
    { key: 'lanes', title: 'Partitions', number: true, wide: true, sort: (group) => group.partitionsWithLag, cell: (group) => count(group.partitionsWithLag) },
    { key: 'members', title: 'Held', number: true, wide: true, sort: (group) => group.members, cell: (group) => count(group.members) },
    { key: 'start', title: 'Began', wide: true, cell: (group) => (group.subscriptionMode === 'timestamp' ? moment(group.subscriptionTimestamp) : group.subscriptionMode === 'new' ? 'new' : 'at oldest') },
  ];
  return (
    <Shown of={groups} what="groups">
      {(data) => {
        const words = (props.filter ?? '').toLowerCase();
        const rows = data.filter((group) => (props.queue === undefined || group.queueName === props.queue) &&
          (groupName(group.name).toLowerCase().includes(words) || group.queueName.toLowerCase().includes(words)));
        if (rows.length === 0) {
          const queue = props.queue ?? 'hello';
          return (
            <Empty title={words ? 'No group has this in its name' : 'Nobody has popped yet'}
              command={words ? undefined : curlLine('popQueue', { queue, consumerGroup: 'billing', autoAck: true })}>
              {words ? undefined : 'A group begins with its first pop:'}
            </Empty>
          );
        }
        return <LongTable label="Groups" columns={columns} rows={sortRows(rows, columns, sorted)} rowKey={(group) => `${group.name}\n${group.queueName}`} sorted={sorted} onSort={setSorted} />;
      }}
    </Shown>
  );
}

export function GroupsPage() {
  const [filter, setFilter] = useParam('q');
  return (
    <>
      <h1>Groups</h1>
      <Card>
        <div class="filters"><TextField label="Search" filter value={filter} onInput={setFilter} placeholder="part of the name of a group or queue" /></div>
        <GroupTable filter={filter} />
      </Card>
    </>
  );
}

const kPreviewMax = 1000;

interface Preview {
  lanes: number;
  behind: number;
  after: number;
  more: boolean;
  first?: { id: string; partition: string; at: string; href: string };
}

/** What a seek would do, from the lists of the API: messages after the time, and what the group has still to read. */
async function preview(group: string, queue: string, from: string | null): Promise<Preview> {
  const state = await ask('getGroup', { group });
  const lanes = ((state as Record<string, { partitions: Lane[] }>)[queue]?.partitions ?? []);
  const behind = lanes.reduce((sum, lane) => sum + lane.offsetLag, 0);
  if (from === null) return { lanes: lanes.length, behind, after: 0, more: false };
  const { messages } = await ask('listMessages', { queue, from, limit: kPreviewMax });
  const first = messages[messages.length - 1];
  return {
    lanes: lanes.length, behind, after: messages.length, more: messages.length === kPreviewMax,
    first: first && messages.length < kPreviewMax
      ? { id: first.transactionId, partition: first.partition, at: first.createdAt, href: href('message', [first.partitionId, first.transactionId]) } : undefined,
  };
}

function SeekDialog(props: { group: string; queue: string; onClose: () => void }) {
  const [mode, setMode] = useState('time');
  const [time, setTime] = useState(() => new Date(brokerNow() - 3_600_000 - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 19));
  const [shown, setShown] = useState<Preview | null>(null);
  const [done, setDone] = useState('');
  const timestamp = () => new Date(time).toISOString();
  const look = useAction(async () => setShown(await preview(props.group, props.queue, mode === 'end' ? null : mode === 'begin' ? new Date(0).toISOString() : timestamp())));
  const seek = useAction(async () => {
    const body = mode === 'end' ? { toEnd: true } : mode === 'begin' ? { offset: 0 } : { timestamp: timestamp() };
    const reply = await ask('seekQueue', { group: props.group, queue: props.queue }, body);
    setShown(null);
    setDone(`Moved in ${plural(reply.partitionsUpdated, 'partition')}.`);
  });
  return (
    <Dialog title={`Move ${groupName(props.group)} on ${props.queue}`} onClose={props.onClose}>
      <form onSubmit={(event) => { event.preventDefault(); if (shown) seek.run(); else look.run(); }}>
        <Choice label="To" value={mode} onChange={(value) => { setMode(value); setShown(null); setDone(''); }}
          options={[['time', 'a time'], ['end', 'the end: skip everything'], ['begin', 'the oldest message: read all again']]} />
        {mode === 'time' && <TextField label="Time (of this computer)" type="datetime-local" value={time} onInput={(value) => { setTime(value); setShown(null); }} required hint="The next message is the first after this time." />}
        {shown && (
          <div class="verdict warn" role="status">
            <p><strong>What it will do</strong></p>
            <p>
              The group has begun in {plural(shown.lanes, 'partition')} and has {plural(shown.behind, 'message')} still to read.{' '}
              {mode === 'end' ? `It will skip ${shown.behind === 1 ? 'it' : 'them'}.`
                : `Afterwards it will have ${shown.more ? `${count(shown.after)} or more messages` : plural(shown.after, 'message')}: ${
                  shown.more || shown.after > shown.behind ? `${shown.more ? 'at least ' : ''}${count(Math.max(0, shown.after - shown.behind))} will be delivered again`
                    : shown.after < shown.behind ? `${count(shown.behind - shown.after)} will be skipped` : 'nothing changes'}.`}
            </p>
            {shown.first && <p>First: <a href={shown.first.href}>{shown.first.id}</a> in {shown.first.partition}, pushed {moment(shown.first.at)}.</p>}
            <p class="muted">Leases of the group on this queue are cancelled; failure counts begin anew.</p>
          </div>
        )}
        {(look.error || seek.error) && <Problem message={look.error || seek.error} />}
        <footer>
          <span class="good" role="status">{done}</span>
          <button type="button" onClick={props.onClose}>{done ? 'Close' : 'Cancel'}</button>
          {shown ? <button type="submit" class="danger" disabled={seek.busy}>Move the group</button>
            : <button type="submit" class="primary" disabled={look.busy}>Preview</button>}
        </footer>
      </form>
    </Dialog>
  );
}

export function GroupPage(props: { group: string; queue: string }) {
  const { group, queue } = props;
  const state = useReply('getGroup', { group, limit: 1000 }, 5_000);
  const presence = useReply('listGroups', {}, 10_000);
  const [sorted, setSorted] = useParam('sort', 'lag');
  const [asking, setAsking] = useState<'' | 'seek' | 'delete'>('');
  const [maySeek, mayDelete] = [useMay('seekQueue', queue), useMay('deleteGroupOfQueue', queue)];
  const now = presence.data?.find((one) => one.name === group && one.queueName === queue);
  const columns: Column<Lane>[] = [
    { key: 'name', title: 'Partition', sort: (lane) => lane.partition, cell: (lane) => <a href={href('partition', [queue, lane.partition], { group })}>{lane.partition}</a> },
    { key: 'lag', title: 'Behind', number: true, sort: (lane) => lane.offsetLag, cell: (lane) => count(lane.offsetLag) },
    { key: 'time', title: 'Oldest', number: true, sort: (lane) => lane.timeLagSeconds, cell: (lane) => (lane.offsetLag > 0 ? seconds(lane.timeLagSeconds) : '–') },
    { key: 'consumed', title: 'Consumed', number: true, wide: true, sort: (lane) => lane.totalConsumed, cell: (lane) => count(lane.totalConsumed) },
    { key: 'last', title: 'Last consumed', wide: true, sort: (lane) => lane.lastConsumedAt ?? '', cell: (lane) => moment(lane.lastConsumedAt) },
    { key: 'lease', title: 'Member', wide: true, cell: (lane) => (lane.leaseActive ? <code title="lease">{lane.workerId}</code> : <span class="muted">nobody</span>) },
  ];
  return (
    <>
      <div class="page-head">
        <h1><a href={href('groups')}>Groups</a> / {groupName(group)}</h1>
        <span class="muted">on <a href={href('queue', [queue])}>{queue}</a>{now ? `, ${plural(now.totalLag, 'message')} behind, ${now.state.toLowerCase()}` : ''}</span>
        <span class="buttons">
          {maySeek && <button type="button" onClick={() => setAsking('seek')}>Move (seek)</button>}
          {mayDelete && <button type="button" class="danger" onClick={() => setAsking('delete')}>Delete</button>}
        </span>
      </div>
      <Card title="Partitions" note="the first thousand, as they are at this moment">
        <Shown of={state} what="where the group stands">
          {(data) => {
            const lanes = (data as Record<string, { partitions: Lane[] }>)[queue]?.partitions ?? [];
            return lanes.length === 0 ? <Empty title="The group has not begun to read here" />
              : <LongTable label="Partitions of the group" columns={columns} rows={sortRows(lanes, columns, sorted)} rowKey={(lane) => lane.partition} sorted={sorted} onSort={setSorted} />;
          }}
        </Shown>
      </Card>
      <Others group={group} queue={queue} groups={presence.data ?? []} />
      {asking === 'seek' && <SeekDialog group={group} queue={queue} onClose={() => setAsking('')} />}
      {asking === 'delete' && (
        <Confirm title={`Delete ${groupName(group)} on ${queue}`} button="Delete the group" typed={groupName(group)} onClose={() => setAsking('')}
          run={async () => { await ask('deleteGroupOfQueue', { group, queue }); location.hash = href('groups'); }}>
          <p>Forgets where the group stands on this queue, and its leases. Its next pop begins anew. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}

function Others(props: { group: string; queue: string; groups: Group[] }) {
  const others = props.groups.filter((one) => one.name === props.group && one.queueName !== props.queue);
  if (others.length === 0) return null;
  return (
    <Card title="The same group elsewhere">
      <Table label="Other queues of the group" rows={others} rowKey={(one) => one.queueName} columns={[
        { key: 'queue', title: 'Queue', cell: (one) => <a href={href('group', [one.name, one.queueName])}>{one.queueName}</a> },
        { key: 'lag', title: 'Behind', number: true, cell: (one) => count(one.totalLag) },
      ]} />
    </Card>
  );
}
