// All queues, ten thousand of them if need be: searched, sorted, with their rates.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, ApiError } from '../api';
import type { Replies } from '../generated/api';
import { count, plural, rate, seconds, shortCount } from '../format';
import { useMay, useRange, useReply } from '../hooks';
import { Badge, Card, Empty, Loading, Problem, TextField } from '../parts/basics';
import { Sparkline } from '../parts/chart';
import { QueueForm } from '../parts/queue_form';
import { LongTable, sortRows, type Column } from '../parts/table';
import { href, useParam } from '../route';
import { firstPush } from './overview';

type Queue = Replies['listStatusQueues']['queues'][number];

const kPage = 1000;
// A page of a thousand queues a second, then a rest: well below what the broker answers without noticing.
const kPageMs = 1_000;
const kRestMs = 10_000;

let remembered: Queue[] = [];

/** Every queue, a page at a time and again and again. The list stays as it was while the next pass runs. */
function useAllQueues(): { queues: Queue[]; complete: boolean; error: string } {
  const [state, setState] = useState({ queues: remembered, complete: remembered.length > 0, error: '' });
  useEffect(() => {
    let ended = false;
    let timer = 0;
    const known = new Map(remembered.map((queue) => [queue.id, queue]));
    let seen = new Set<string>();
    let first = remembered.length === 0;
    async function page(offset: number): Promise<void> {
      if (ended) return;
      if (document.hidden) {
        timer = window.setTimeout(() => void page(offset), kPageMs);
        return;
      }
      let next = offset;
      let wait = kRestMs;
      try {
        const { queues } = await ask('listStatusQueues', { limit: kPage, offset });
        if (ended) return;
        for (const queue of queues) {
          known.set(queue.id, queue);
          seen.add(queue.id);
        }
        const complete = queues.length < kPage;
        if (complete) {
          for (const id of known.keys()) if (!seen.has(id)) known.delete(id);
          seen = new Set();
        }
        remembered = [...known.values()];
        first = first && !complete;
        setState({ queues: remembered, complete: !first, error: '' });
        next = complete ? 0 : offset + kPage;
        wait = complete ? (known.size < kPage ? 3_000 : kRestMs) : kPageMs;
      } catch (problem) {
        setState((before) => ({ ...before, error: problem instanceof ApiError ? problem.message : String(problem) }));
        wait = 2_000;
      }
      timer = window.setTimeout(() => void page(next), wait);
    }
    const again = () => {
      clearTimeout(timer);
      seen = new Set();
      void page(0);
    };
    void page(0);
    addEventListener('queen-queues', again);
    return () => {
      ended = true;
      clearTimeout(timer);
      removeEventListener('queen-queues', again);
    };
  }, []);
  return state;
}

function useSparks(): Map<string, number[]> {
  const range = useRange();
  const ops = useReply('getQueueOps', { ...range.values, limit: 100 }, 15_000);
  return useMemo(() => {
    const sparks = new Map<string, number[]>();
    for (const point of ops.data?.series ?? []) {
      const values = sparks.get(point.queueName) ?? [];
      values.push(point.pushPerSecond + point.ackPerSecond);
      sparks.set(point.queueName, values);
    }
    return sparks;
  }, [ops.data]);
}

export function QueuesPage() {
  const [filter, setFilter] = useParam('q');
  const [sorted, setSorted] = useParam('sort', 'name-up');
  const [making, setMaking] = useState(false);
  const mayMake = useMay('configureQueue');
  const { queues, complete, error } = useAllQueues();
  const sparks = useSparks();
  const sparksNow = useRef(sparks);
  sparksNow.current = sparks;

  const columns = useMemo((): Column<Queue>[] => [
    { key: 'name', title: 'Queue', sort: (queue) => queue.name, cell: (queue) => <a href={href('queue', [queue.name])}>{queue.name || '(empty name)'}</a> },
    { key: 'partitions', title: 'Partitions', number: true, wide: true, sort: (queue) => queue.partitions, cell: (queue) => count(queue.partitions) },
    { key: 'pending', title: 'Waiting', number: true, sort: (queue) => queue.messages.pending, cell: (queue) => count(queue.messages.pending) },
    { key: 'lag', title: 'Oldest', number: true, sort: (queue) => queue.lagSeconds,
      cell: (queue) => (queue.lagSeconds > 300 ? <Badge tone="warn">{seconds(queue.lagSeconds)}</Badge> : queue.messages.pending > 0 ? seconds(queue.lagSeconds) : '–') },
    { key: 'in', title: 'In', number: true, wide: true, sort: (queue) => queue.ingestedPerSecond, cell: (queue) => rate(queue.ingestedPerSecond) },
    { key: 'out', title: 'Out', number: true, wide: true, sort: (queue) => queue.processedPerSecond, cell: (queue) => rate(queue.processedPerSecond) },
    { key: 'spark', title: 'Activity', wide: true, cell: (queue) => <Sparkline values={sparksNow.current.get(queue.name) ?? []} label={`activity of ${queue.name}`} /> },
    { key: 'dead', title: 'Dead', number: true, wide: true, sort: (queue) => queue.messages.deadLetter,
      cell: (queue) => (queue.messages.deadLetter > 0 ? <a href={href('dead-letters', [], { queue: queue.name })}>{count(queue.messages.deadLetter)}</a> : '0') },
  ], []);

  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = words.length === 0 ? queues : queues.filter((queue) => words.every((word) => queue.name.toLowerCase().includes(word)));
    return sortRows(matching, columns, sorted);
  }, [queues, filter, sorted, columns, sparks]);

  return (
    <>
      <div class="page-head">
        <h1>Queues</h1>
        <span class="muted" role="status">
          {shown.length === queues.length ? plural(queues.length, 'queue') : `${count(shown.length)} of ${plural(queues.length, 'queue')}`}
          {complete ? '' : ', loading more…'}
        </span>
        {mayMake && <button type="button" class="primary" onClick={() => setMaking(true)}>Make a queue</button>}
      </div>
      {error && queues.length === 0 && <Problem message={error} />}
      <Card>
        <div class="filters"><TextField label="Search" filter value={filter} onInput={setFilter} placeholder="part of a name" /></div>
        {!complete && queues.length === 0 && !error ? <Loading what="queues" /> : queues.length === 0 && !error ? (
          <Empty title="There is no queue yet" command={firstPush()}>A queue is made by its first message:</Empty>
        ) : shown.length === 0 ? <Empty title="No queue has this in its name" /> : (
          <LongTable label="Queues" columns={columns} rows={shown} rowKey={(queue) => queue.id} sorted={sorted} onSort={setSorted} />
        )}
      </Card>
      <p class="muted small-print">Waiting, dead letters and age are measured every few seconds; rates are of the last five full minutes. {shortCount(sparks.size)} busiest queues show their activity over the range above.</p>
      {making && <QueueForm onClose={() => setMaking(false)} />}
    </>
  );
}
