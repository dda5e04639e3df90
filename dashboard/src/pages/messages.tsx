// Stored messages: a list with filters, and one message with its payload and what can be done with it.
import { useState } from 'preact/hooks';
import { ask } from '../api';
import type { Replies } from '../generated/api';
import { count, groupName, moment, plural } from '../format';
import { useReply } from '../hooks';
import { useMay, useRights } from '../rights';
import { pushLine } from '../shell';
import { Badge, Card, Choice, Copy, Dialog, Empty, Facts, Problem, Shown, TextField } from '../parts/basics';
import { Confirm } from '../parts/confirm';
import { JsonOf } from '../parts/json_view';
import { Payload } from '../parts/payload';
import { StatusBadge } from '../parts/status_badge';
import { Pager, Table } from '../parts/table';
import { useAction } from '../hooks';
import { href, setParams, useParam } from '../route';
import { TraceList } from './traces';

const kPage = 100;

/** A local time as the API wants it; "" for none. */
export function apiTime(local: string): string {
  const time = new Date(local);
  return local && !Number.isNaN(time.getTime()) ? time.toISOString() : '';
}

/** A token for some queues is not shown what is of all of them. */
export function NameAQueue() {
  return <Empty title="Name a queue">Your token is for some queues. Type the name of one above, or <a href={href('queues')}>choose it from the list</a>.</Empty>;
}

export function MessagesPage() {
  const [queue] = useParam('queue');
  const [partition] = useParam('partition');
  const [status] = useParam('status');
  const [from] = useParam('from');
  const [to] = useParam('to');
  const [offset, setOffset] = useParam('offset', '0');
  const change = (name: string) => (value: string) => setParams({ [name]: value, offset: '' });
  const { known, limited } = useRights();
  const unnamed = limited && !queue;
  const messages = useReply('listMessages', !known || unnamed ? null : { queue, partition, status, from: apiTime(from), to: apiTime(to), limit: kPage, offset }, 5_000);
  return (
    <>
      <h1>Messages</h1>
      <Card>
        <div class="filters">
          <TextField label="Queue" filter value={queue} onInput={change('queue')} placeholder="exact name" />
          <TextField label="Partition" value={partition} onInput={change('partition')} placeholder="exact name" />
          <Choice label="Status" value={status} onChange={change('status')}
            options={[['', 'any'], ['pending', 'waiting'], ['processing', 'with a consumer'], ['completed', 'done'], ['dead_letter', 'dead letter']]} />
          <TextField label="Pushed after" type="datetime-local" value={from} onInput={change('from')} />
          <TextField label="Pushed before" type="datetime-local" value={to} onInput={change('to')} />
        </div>
        {unnamed ? <NameAQueue /> : <Shown of={messages} what="messages">
          {(data) => data.messages.length === 0 ? (
            <Empty title="No message matches" command={queue || status || from || to ? undefined : pushLine()}>{queue || status || from || to ? 'Widen the filters above.' : 'Push the first one:'}</Empty>
          ) : (
            <>
              <Table label="Messages" rows={data.messages} rowKey={(message) => `${message.partitionId}${message.id}`} columns={[
                { key: 'id', title: 'Transaction id', cell: (message) => <a href={href('message', [message.partitionId, message.transactionId])}>{message.transactionId}</a> },
                { key: 'queue', title: 'Queue', cell: (message) => <a href={href('queue', [message.queue])}>{message.queue}</a> },
                { key: 'partition', title: 'Partition', wide: true, cell: (message) => <a href={href('partition', [message.queue, message.partition])}>{message.partition}</a> },
                { key: 'time', title: 'Pushed', cell: (message) => moment(message.createdAt) },
                { key: 'status', title: 'Status', cell: (message) => <StatusBadge status={message.status} /> },
                { key: 'groups', title: 'Groups done', number: true, wide: true, cell: (message) => `${message.busStatus.consumedBy} of ${message.busStatus.totalGroups}` },
              ]} />
              <Pager offset={Number(offset)} limit={kPage} shown={data.messages.length} onMove={(next) => setOffset(String(next))} />
            </>
          )}
        </Shown>}
      </Card>
    </>
  );
}

type Message = Replies['getMessage'];

function DeadLetterDialog(props: { message: Message; onClose: () => void }) {
  const groups = props.message.consumerGroups.filter((group) => !group.consumed);
  const [group, setGroup] = useState(groups[0]?.name ?? '__QUEUE_MODE__');
  const [reason, setReason] = useState('dead-lettered by an operator');
  const { partitionId, transactionId } = props.message;
  const action = useAction(async () => {
    await ask('deadLetterMessage', { partitionId, transactionId }, { consumerGroup: group, error: reason });
    props.onClose();
  });
  return (
    <Dialog title="Make a dead letter of it" onClose={props.onClose}>
      <form onSubmit={(event) => { event.preventDefault(); action.run(); }}>
        <p>For a message that holds up its partition: the group goes on behind it.</p>
        <Choice label="For the group" value={group} onChange={setGroup} options={[...new Set([group, ...groups.map((one) => one.name)])].map((name) => [name, groupName(name)])} />
        <TextField label="Why" value={reason} onInput={setReason} />
        {action.error && <Problem message={action.error} />}
        <footer>
          <button type="button" onClick={props.onClose}>Cancel</button>
          <button type="submit" class="danger" disabled={action.busy}>Make a dead letter</button>
        </footer>
      </form>
    </Dialog>
  );
}

export function MessagePage(props: { partitionId: string; transactionId: string }) {
  const values = { partitionId: props.partitionId, transactionId: props.transactionId };
  const reply = useReply('getMessage', { ...values, payloadMax: 0 }, 5_000);
  const [asking, setAsking] = useState<'' | 'dead' | 'delete'>('');
  const [said, setSaid] = useState('');
  const [mayRetry, mayKill, mayDelete] = [useMay('retryMessage', reply.data?.queue), useMay('deadLetterMessage', reply.data?.queue), useMay('deleteMessage', reply.data?.queue)];
  const retry = useAction(async () => {
    const { redriven } = await ask('retryMessage', values, {});
    setSaid(`Pushed again for ${plural(redriven.length, 'group')}.`);
  });
  const gone = reply.error?.status === 404;
  return (
    <>
      <div class="page-head">
        <h1><a href={href('messages')}>Messages</a> / {props.transactionId}</h1>
        <Copy text={props.transactionId} what="the transaction id" />
        {reply.data && !gone && (
          <span class="buttons">
            {mayRetry && reply.data.status === 'dead_letter' && <button type="button" class="primary" onClick={retry.run} disabled={retry.busy}>Try again</button>}
            {mayKill && reply.data.status !== 'completed' && reply.data.status !== 'dead_letter' && <button type="button" onClick={() => setAsking('dead')}>Dead letter</button>}
            {mayDelete && <button type="button" class="danger" onClick={() => setAsking('delete')}>Delete</button>}
          </span>
        )}
      </div>
      <div role="status" class="good">{said}</div>
      {retry.error && <Problem message={retry.error} />}
      {gone ? <Card><Empty title="There is no such message">It was deleted, or retention removed it.</Empty></Card> : (
        <Shown of={reply} what="the message">
          {(message) => (
            <>
              <div class="columns">
                <Card title="What it is">
                  <Facts rows={[
                    ['Queue', <a href={href('queue', [message.queue])}>{message.queue}</a>],
                    ['Partition', <a href={href('partition', [message.queue, message.partition])}>{message.partition}</a>],
                    ['Offset', count(message.offset)],
                    ['Pushed', moment(message.createdAt)],
                    ['Status', <StatusBadge status={message.status} />],
                    ['Failures', count(message.retryCount)],
                    ['Error', message.errorMessage ?? '–'],
                    ['Pushed by', message.producerSub ?? '–'],
                    ['Trace id', message.traceId ?? '–'],
                    ['Encrypted', message.isEncrypted ? 'yes' : 'no'],
                  ]} />
                </Card>
                <Card title="Groups">
                  {message.consumerGroups.length === 0 ? <p class="muted">No group reads this queue yet.</p> : (
                    <Table label="Groups and this message" rows={message.consumerGroups} rowKey={(group) => group.name} columns={[
                      { key: 'name', title: 'Group', cell: (group) => <a href={href('group', [group.name, message.queue])}>{groupName(group.name)}</a> },
                      { key: 'status', title: 'Status', cell: (group) => <StatusBadge status={group.status} /> },
                      { key: 'lease', title: 'Lease ends', cell: (group) => moment(group.leaseExpiresAt) },
                    ]} />
                  )}
                </Card>
              </div>
              <Card title="Payload" note={message.error ? <Badge tone="bad">{message.error}</Badge> : undefined}>
                <Payload {...values} what="the payload" />
              </Card>
              {message.headers && <Card title="Headers"><JsonOf value={message.headers} what="the headers" /></Card>}
              <Card title="Traces"><TraceList partitionId={props.partitionId} transactionId={props.transactionId} /></Card>
              {asking === 'dead' && <DeadLetterDialog message={message} onClose={() => setAsking('')} />}
            </>
          )}
        </Shown>
      )}
      {asking === 'delete' && (
        <Confirm title="Delete this message" button="Delete the message" onClose={() => setAsking('')} run={async () => { await ask('deleteMessage', values); }}>
          <p>No group gets it any more, and its dead letters go with it. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}
