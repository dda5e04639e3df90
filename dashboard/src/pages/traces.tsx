// Traces: what consumers noted about messages, as a timeline by name or by message.
import type { Replies } from '../generated/api';
import { clock, count, groupName, moment, plural, seconds } from '../format';
import { useReply } from '../hooks';
import { Badge, Card, Empty, Shown, TextField, type Tone } from '../parts/basics';
import { JsonOf } from '../parts/json_view';
import { Pager, Table } from '../parts/table';
import { href, useParam } from '../route';
import { curlLine } from '../shell';

interface Event {
  id: string;
  event_type: string;
  data: unknown;
  consumer_group: string | null;
  worker_id: string | null;
  created_at: string;
  partition_id?: string;
  transaction_id?: string;
  queue_name?: string | null;
  partition_name?: string | null;
}

const tones: Record<string, Tone> = { error: 'bad', warning: 'warn', warn: 'warn', info: 'quiet', step: 'accent', processing: 'accent' };

function Timeline(props: { events: Event[] }) {
  const begin = Date.parse(props.events[0]?.created_at ?? '');
  return (
    <ol class="timeline">
      {props.events.map((event, place) => (
        <li key={event.id} class={tones[event.event_type] ?? 'quiet'}>
          <div class="timeline-head">
            <span class="number" title={event.created_at}>{clock(event.created_at)}</span>
            <span class="muted number">+{seconds((Date.parse(event.created_at) - begin) / 1000)}</span>
            <Badge tone={tones[event.event_type] ?? 'quiet'}>{event.event_type}</Badge>
            {event.consumer_group && <span class="muted">{groupName(event.consumer_group)}</span>}
            {event.queue_name && event.partition_id && event.transaction_id && (
              <a href={href('message', [event.partition_id, event.transaction_id])}>{event.queue_name} / {event.partition_name} / {event.transaction_id}</a>
            )}
          </div>
          <JsonOf value={event.data} what={`note ${place + 1}`} />
        </li>
      ))}
    </ol>
  );
}

export function TraceList(props: { partitionId: string; transactionId: string }) {
  const traces = useReply('listTraces', props, 5_000);
  return (
    <Shown of={traces} what="traces">
      {(data) => data.traces.length === 0 ? (
        <Empty title="Nobody noted anything about this message"
          command={curlLine('recordTrace', {}, { ...props, traceNames: ['checkout'], data: { text: 'card charged' } })}>
          A consumer notes a step like this:
        </Empty>
      ) : <Timeline events={data.traces} />}
    </Shown>
  );
}

type Name = Replies['listTraceNames']['trace_names'][number];

export function TracesPage(props: { name?: string }) {
  const [filter, setFilter] = useParam('q');
  const [offset, setOffset] = useParam('offset', '0');
  const names = useReply('listTraceNames', props.name ? null : { limit: 200, offset }, 5_000);
  const traces = useReply('listTracesByName', props.name ? { name: props.name, limit: 500 } : null, 3_000);
  if (props.name) {
    return (
      <>
        <div class="page-head"><h1><a href={href('traces')}>Traces</a> / {props.name}</h1>{traces.data && <span class="muted">{plural(traces.data.total, 'note')}</span>}</div>
        <Card title="Timeline">
          <Shown of={traces} what="the timeline">
            {(data) => data.traces.length === 0 ? <Empty title="No trace has this name" /> : <Timeline events={data.traces} />}
          </Shown>
        </Card>
      </>
    );
  }
  return (
    <>
      <h1>Traces</h1>
      <Card>
        <div class="filters"><TextField label="Search" filter value={filter} onInput={setFilter} placeholder="part of a name on this page" /></div>
        <Shown of={names} what="names of traces">
          {(data) => {
            const rows = data.trace_names.filter((name: Name) => name.trace_name.toLowerCase().includes(filter.toLowerCase()));
            if (data.total === 0) {
              return (
                <Empty title="Nobody has traced anything yet"
                  command={curlLine('recordTrace', {}, { partitionId: '<of a message>', transactionId: 'order-1', traceNames: ['order-1'], data: { text: 'card charged' } })}>
                  Consumers note what they do with a message under a name:
                </Empty>
              );
            }
            return (
              <>
                {rows.length === 0 ? <Empty title="No name on this page has this in it" /> : (
                  <Table label="Names of traces" rows={rows} rowKey={(name) => name.trace_name} columns={[
                    { key: 'name', title: 'Name', cell: (name) => <a href={href('traces', [name.trace_name])}>{name.trace_name}</a> },
                    { key: 'notes', title: 'Notes', number: true, cell: (name) => count(name.trace_count) },
                    { key: 'messages', title: 'Messages', number: true, cell: (name) => count(name.message_count) },
                    { key: 'last', title: 'Last note', cell: (name) => moment(name.last_seen) },
                  ]} />
                )}
                <Pager offset={Number(offset)} limit={200} shown={data.trace_names.length} total={data.total} onMove={(next) => setOffset(String(next))} />
              </>
            );
          }}
        </Shown>
      </Card>
    </>
  );
}
