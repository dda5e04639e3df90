// All queues, ten thousand of them if need be: searched, sorted, with their rates.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { pathOf } from '../api';
import type { Replies } from '../generated/api';
import { count, plural, rate, seconds, shortCount } from '../format';
import { useRange, useReply } from '../hooks';
import { poller, type Answer } from '../poll';
import { useMay, useRights } from '../rights';
import { pushLine } from '../shell';
import { Badge, Card, Empty, Loading, Problem, TextField } from '../parts/basics';
import { Sparkline } from '../parts/chart';
import { QueueForm } from '../parts/queue_form';
import { LongTable, sortRows, type Column } from '../parts/table';
import { href, useParam } from '../route';

type Queue = Replies['listStatusQueues']['queues'][number];

const kPage = 1000;
// The first page is fresh, the others take their turns: at most two questions a second, whatever their number.
const kFirstMs = 3_000;
const kOtherMs = 10_000;

interface AllQueues {
  queues: Queue[];
  complete: boolean;
  error: string;
}

/** Every queue, a page at a time and again and again; all tabs share the pages. */
function useAllQueues(): AllQueues {
  const [state, setState] = useState<AllQueues>({ queues: [], complete: false, error: '' });
  useEffect(() => {
    const pages = new Map<number, Replies['listStatusQueues']>();
    const stops = new Map<number, () => void>();
    let ended = false;

    /** What is known from the first page on; a queue that moved to another page meanwhile counts once. */
    function tell(error: string): void {
      const queues = new Map<string, Queue>();
      let offset: number | null = 0;
      for (let page = pages.get(0); page && offset !== null; page = offset === null ? undefined : pages.get(offset)) {
        for (const queue of page.queues) queues.set(queue.id, queue);
        offset = page.next;
      }
      setState({ queues: [...queues.values()], complete: pages.size > 0 && offset === null, error });
    }

    function take(offset: number, answer: Answer): void {
      if (ended) return;
      const page = answer.data as Replies['listStatusQueues'] | undefined;
      if (page) pages.set(offset, page);
      if (page && page.next !== null) look(page.next);
      else if (page) for (const other of [...stops.keys()]) if (other > offset) forget(other);
      tell(answer.error?.message ?? '');
    }

    function forget(offset: number): void {
      stops.get(offset)?.();
      stops.delete(offset);
      pages.delete(offset);
    }

    function look(offset: number): void {
      if (stops.has(offset)) return;
      stops.set(offset, () => undefined);
      const stop = poller.watch(pathOf('listStatusQueues', { limit: kPage, offset }), offset === 0 ? kFirstMs : kOtherMs,
        (answer) => take(offset, answer), offset > 0);
      stops.set(offset, stop);
    }

    look(0);
    return () => {
      ended = true;
      for (const stop of stops.values()) stop();
    };
  }, []);
  return state;
}

function useSparks(): Map<string, number[]> {
  const range = useRange();
  const { known, limited } = useRights();
  const ops = useReply('getQueueOps', known && !limited ? { ...range.values, limit: 100 } : null, 15_000);
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
          <Empty title="There is no queue yet" command={pushLine()}>A queue is made by its first message:</Empty>
        ) : shown.length === 0 ? <Empty title="No queue has this in its name" /> : (
          <LongTable label="Queues" columns={columns} rows={shown} rowKey={(queue) => queue.id} sorted={sorted} onSort={setSorted} />
        )}
      </Card>
      <p class="muted small-print">Waiting, dead letters and age are measured every few seconds; rates are of the last five full minutes. {shortCount(sparks.size)} busiest queues show their activity over the range above.</p>
      {making && <QueueForm onClose={() => setMaking(false)} />}
    </>
  );
}
