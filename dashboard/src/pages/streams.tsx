// Streaming queries and what they remember.
import { useState } from 'preact/hooks';
import { ask } from '../api';
import type { Replies } from '../generated/api';
import { count, moment } from '../format';
import { useAction, useReply } from '../hooks';
import { Card, Empty, Facts, Problem, Shown, TextField } from '../parts/basics';
import { JsonOf } from '../parts/json_view';
import { Pager, Table } from '../parts/table';
import { href, useParam } from '../route';
import { curlLine } from '../shell';

type State = Replies['getStreamState'];

const kPage = 100;
const kRowsShown = 200;
const many = (amount: number, max: number) => (amount >= max ? `${count(max)} or more` : count(amount));

export function StreamsPage() {
  const [offset, setOffset] = useParam('offset', '0');
  const queries = useReply('listStreamQueries', { limit: kPage, offset }, 5_000);
  return (
    <>
      <h1>Streams</h1>
      <Card>
        <Shown of={queries} what="streaming queries">
          {(data) => data.queries.length === 0 ? (
            <Empty title="There is no streaming query yet"
              command={curlLine('registerStreamQuery', {}, { name: 'totals', source_queue: 'orders', sink_queue: 'totals', config_hash: '1' })}>
              A streaming SDK registers its query by itself; by hand it is:
            </Empty>
          ) : (
            <>
              <Table label="Streaming queries" rows={data.queries} rowKey={(query) => query.id} columns={[
                { key: 'name', title: 'Query', cell: (query) => <a href={href('stream', [query.id])}>{query.name}</a> },
                { key: 'source', title: 'Reads', cell: (query) => <a href={href('queue', [query.sourceQueue])}>{query.sourceQueue}</a> },
                { key: 'sink', title: 'Writes', cell: (query) => (query.sinkQueue ? <a href={href('queue', [query.sinkQueue])}>{query.sinkQueue}</a> : '–') },
                { key: 'rows', title: 'State', number: true, cell: (query) => `${many(query.stateRows, 10_000)} rows` },
                { key: 'made', title: 'Made', wide: true, cell: (query) => moment(query.createdAt) },
              ]} />
              <Pager offset={Number(offset)} limit={kPage} shown={data.queries.length} onMove={(next) => setOffset(String(next))} />
            </>
          )}
        </Shown>
      </Card>
    </>
  );
}

export function StreamPage(props: { query: string }) {
  const query = useReply('getStreamQuery', { queryId: props.query }, 5_000);
  const [partition, setPartition] = useParam('partition');
  const [prefix, setPrefix] = useParam('key');
  const [state, setState] = useState<{ of: string; reply: State } | null>(null);
  const load = useAction(async () => {
    const reply = await ask('getStreamState', {}, { query_id: props.query, partition_id: partition, ...(prefix ? { key_prefix: prefix } : {}) });
    setState({ of: partition, reply });
  });
  return (
    <>
      <div class="page-head"><h1><a href={href('streams')}>Streams</a> / {query.data?.name ?? props.query}</h1></div>
      {query.error?.status === 404 ? <Card><Empty title="There is no such query">It was reset under a new id, or its source is gone.</Empty></Card> : (
        <Shown of={query} what="the query">
          {(data) => (
            <>
              <Card title="What it is">
                <Facts rows={[
                  ['Reads', <a href={href('queue', [data.sourceQueue])}>{data.sourceQueue}</a>],
                  ['Writes', data.sinkQueue ? <a href={href('queue', [data.sinkQueue])}>{data.sinkQueue}</a> : '–'],
                  ['Program (config_hash)', <code>{data.configHash}</code>],
                  ['Made', moment(data.createdAt)],
                ]} />
              </Card>
              <Card title="State" note={data.partitions.length === 1 ? 'in 1 partition' : `in ${many(data.partitions.length, kPage)} partitions`}>
                {data.partitions.length === 0 ? <Empty title="It remembers nothing yet" /> : (
                  <form onSubmit={(event) => { event.preventDefault(); load.run(); }}>
                    <div class="filters">
                      <div class="field">
                        <label for="stream-partition">Partition</label>
                        <select id="stream-partition" value={partition} onChange={(event) => setPartition(event.currentTarget.value)} required>
                          <option value="">choose…</option>
                          {data.partitions.map((one) => <option key={one.partitionId} value={one.partitionId} selected={one.partitionId === partition}>{one.partition} ({many(one.rows, 10_000)} rows)</option>)}
                        </select>
                      </div>
                      <TextField label="Keys that begin with" filter value={prefix} onInput={setPrefix} />
                      <button type="submit" class="primary" disabled={!partition || load.busy}>Show</button>
                    </div>
                  </form>
                )}
                {load.error && <Problem message={load.error} />}
                {state && (
                  <>
                    <Table label="State" rows={state.reply.rows.slice(0, kRowsShown)} rowKey={(row) => row.key} columns={[
                      { key: 'key', title: 'Key', cell: (row) => <code>{row.key.replace(/\u001f/g, ' · ')}</code> },
                      { key: 'value', title: 'Value', cell: (row) => <JsonOf value={row.value} what={`the value of ${row.key}`} /> },
                      { key: 'time', title: 'Changed', cell: (row) => moment(row.updated_at) },
                    ]} />
                    {state.reply.rows.length > kRowsShown && <p class="muted">The first {kRowsShown} of {count(state.reply.rows.length)}.</p>}
                    {state.reply.rows.length === 0 && <Empty title="No key begins with this" />}
                  </>
                )}
              </Card>
            </>
          )}
        </Shown>
      )}
    </>
  );
}
