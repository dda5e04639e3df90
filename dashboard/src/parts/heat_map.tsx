// The partitions of a queue as cells of a map, coloured by what waits. It stays usable at 100,000: only the cells in
// sight are drawn, on one canvas, and only the pages in sight are asked for, a thousand partitions each.
//   "stuck": those that lag, the longest wait first; how many there are is known when the last page came.
//   "name": all of them by name.
// Arrow keys move from cell to cell, Enter opens one.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { pathOf } from '../api';
import { brokerNow } from '../clock';
import { poller } from '../poll';
import type { Replies } from '../generated/api';
import { age, count, plural, seconds } from '../format';
import { colour } from '../palette';
import { go } from '../route';
import { Empty } from './basics';

export type Partition = Replies['listPartitions']['partitions'][number];

const kPage = 1000;
const kRefreshMs = 5_000;

/** Few partitions get large cells; many of them are a texture, in which the hot ones stand out. */
function cellPixels(total: number): number {
  return total <= 300 ? 36 : total <= 2000 ? 24 : 16;
}

interface Pages {
  rows: Map<number, Partition[]>;
  total: number;
  /** Whether `total` is exact. */
  ended: boolean;
  error: string;
}

const nothingYet: Pages = { rows: new Map(), total: 0, ended: false, error: '' };

function withPage(before: Pages, page: number, reply: Replies['listPartitions'], sort: 'lag' | 'name'): Pages {
  const rows = new Map(before.rows).set(page, reply.partitions);
  const end = page * kPage + reply.partitions.length;
  const last = reply.partitions.length < kPage;
  if (sort === 'name') return { rows, total: Math.max(reply.total, last ? end : 0), ended: true, error: '' };
  const reached = Math.max(end + (last ? 0 : kPage), ...[...rows].map(([key, list]) => key * kPage + list.length));
  return { rows, total: last ? end : Math.min(reached, Math.max(reply.total, end)), ended: last || before.ended, error: '' };
}

/** The pages in sight, asked for at once when they come into it and again in their turn; `look` says which they are. */
function usePages(queue: string, sort: 'lag' | 'name'): [Pages, (first: number, last: number) => void] {
  const [pages, setPages] = useState<Pages>(nothingYet);
  const [[first, last], setSight] = useState<[number, number]>([0, 0]);
  useEffect(() => {
    setPages(nothingYet);
    setSight([0, 0]);
  }, [queue, sort]);
  useEffect(() => {
    const stops: (() => void)[] = [];
    for (let page = first; page <= last; ++page) {
      stops.push(poller.watch(pathOf('listPartitions', { queue, sort, limit: kPage, offset: page * kPage }), kRefreshMs, (answer) => {
        const reply = answer.data as Replies['listPartitions'] | undefined;
        setPages((before) => ({ ...(reply ? withPage(before, page, reply, sort) : before), error: answer.error?.message ?? '' }));
      }));
    }
    return () => { for (const stop of stops) stop(); };
  }, [queue, sort, first, last]);
  const look = useMemo(() => (from: number, to: number) => setSight((before) => (before[0] === from && before[1] === to ? before : [from, to])), []);
  return [pages, look];
}

function waitOf(partition: Partition): number {
  if (partition.messages.pending === 0 || !partition.oldestMessage) return 0;
  return Math.max(0, (brokerNow() - Date.parse(partition.oldestMessage)) / 1000);
}

/** 0 nothing waits, 1 to 4 by how much does. */
export function heatOf(partition: Partition): number {
  const { pending } = partition.messages;
  if (pending === 0) return 0;
  return pending < 10 ? 1 : pending < 100 ? 2 : pending < 1000 ? 3 : 4;
}

function describe(partition: Partition | undefined): string {
  if (!partition) return 'loading…';
  const { pending, processing } = partition.messages;
  const wait = waitOf(partition);
  const dead = partition.stats.deadLetter > 0 ? `, ${plural(partition.stats.deadLetter, 'dead letter')}` : '';
  return `${partition.name}: ${count(pending)} waiting${wait > 0 ? ` for up to ${seconds(wait)}` : ''}${processing > 0 ? `, ${count(processing)} with a consumer` : ''}${dead}, ` +
    `newest ${age(partition.newestMessage)}`;
}

export function HeatMap(props: { queue: string; sort: 'lag' | 'name' }) {
  const [pages, look] = usePages(props.queue, props.sort);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 252, top: 0 });
  const [picked, setPicked] = useState(-1);
  const [theme, setTheme] = useState(0);
  const { heat, lineColour, unknown } = useMemo(() => ({
    heat: [0, 1, 2, 3, 4].map((level) => colour(`heat-${level}`)), lineColour: colour('text'), unknown: colour('grid'),
  }), [theme]);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight, top: element.scrollTop });
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    const themed = () => setTheme((before) => before + 1);
    addEventListener('queen-theme', themed);
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', measure);
      removeEventListener('queen-theme', themed);
    };
  }, []);

  useEffect(() => {
    setPicked(-1);
    if (box.current) box.current.scrollTop = 0;
  }, [props.queue, props.sort]);

  const cell = cellPixels(pages.total);
  const across = Math.max(1, Math.floor(size.width / cell));
  // The cells of a line fill it.
  const cellWidth = size.width / across;
  const lines = Math.ceil(pages.total / across);
  const firstLine = Math.floor(size.top / cell);
  const lastLine = Math.min(lines, Math.ceil((size.top + size.height) / cell));
  const at = (index: number) => pages.rows.get(Math.floor(index / kPage))?.[index % kPage];

  useEffect(() => {
    if (pages.total > 0) look(Math.floor((firstLine * across) / kPage), Math.floor(Math.max(0, Math.min(pages.total, lastLine * across) - 1) / kPage));
  }, [look, firstLine, lastLine, across, pages.total]);

  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!canvas.current || !context || size.width === 0) return;
    const ratio = devicePixelRatio || 1;
    canvas.current.width = size.width * ratio;
    canvas.current.height = size.height * ratio;
    context.scale(ratio, ratio);
    for (let index = firstLine * across; index < Math.min(pages.total, (lastLine + 1) * across); ++index) {
      const partition = at(index);
      const x = Math.round((index % across) * cellWidth);
      const width = Math.round((index % across + 1) * cellWidth) - x;
      const y = Math.floor(index / across) * cell - size.top;
      context.fillStyle = (partition ? heat[heatOf(partition)] : unknown) as string;
      context.fillRect(x + 1, y + 1, width - 2, cell - 2);
      if (partition && partition.messages.processing > 0) {
        context.fillStyle = lineColour;
        context.fillRect(x + width / 2 - 2, y + cell / 2 - 2, 4, 4);
      }
      if (index === picked) {
        context.strokeStyle = lineColour;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, width - 2, cell - 2);
      }
    }
  });

  const cellAt = (event: MouseEvent): number => {
    const place = canvas.current?.getBoundingClientRect();
    if (!place) return -1;
    const column = Math.floor((event.clientX - place.left) / cellWidth);
    const index = Math.floor((event.clientY - place.top + size.top) / cell) * across + column;
    return column < across && index < pages.total ? index : -1;
  };
  const open = (index: number) => {
    const partition = at(index);
    if (partition) go('partition', [props.queue, partition.name]);
  };
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
    if (event.key === 'Enter') return open(picked);
    const step = steps[event.key];
    if (step === undefined) return undefined;
    event.preventDefault();
    const next = Math.max(0, Math.min(pages.total - 1, picked < 0 ? 0 : picked + step));
    setPicked(next);
    const y = Math.floor(next / across) * cell;
    if (box.current && y < box.current.scrollTop) box.current.scrollTop = y;
    if (box.current && y + cell > box.current.scrollTop + size.height) box.current.scrollTop = y + cell - size.height;
    return undefined;
  };

  const stuck = props.sort === 'lag' ? at(0) : undefined;
  const nothing = pages.ended && pages.total === 0;
  return (
    <>
      <div class="heat" ref={box} tabIndex={0} role="application" aria-label={`Partitions of ${props.queue}`} aria-describedby="heat-says"
        onKeyDown={move} hidden={nothing}>
        <div style={{ height: `${lines * cell}px` }}>
          <canvas ref={canvas} style={{ width: `${size.width}px`, height: `${size.height}px` }}
            onMouseMove={(event) => setPicked(cellAt(event))} onMouseLeave={() => setPicked(-1)} onClick={(event) => open(cellAt(event))} />
        </div>
      </div>
      {nothing && <Empty title={props.sort === 'lag' ? 'Nothing waits in any partition' : 'There is no partition yet'}>{props.sort === 'lag' ? 'Choose “by name” to see all partitions.' : undefined}</Empty>}
      <p id="heat-says" class="heat-says" role="status">
        {pages.error || (picked >= 0 ? describe(at(picked)) : stuck ? `Longest wait: ${describe(stuck)}` : ' ')}
      </p>
      <ul class="heat-legend">
        {['nothing waits', '1 to 9', '10 to 99', '100 to 999', '1,000 and more'].map((text, level) => (
          <li key={text}><span class={`heat-cell heat-${level}`} aria-hidden="true" />{text}</li>
        ))}
        <li><span class="heat-cell heat-0" aria-hidden="true"><span class="heat-dot" /></span>with a consumer</li>
      </ul>
    </>
  );
}
