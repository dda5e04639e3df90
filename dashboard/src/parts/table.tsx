// Tables: a plain one for pages of rows, and one that keeps only the rows in sight, for ten thousand.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  key: string;
  title: string;
  /** Numbers stand right. */
  number?: boolean;
  /** Not on a phone. */
  wide?: boolean;
  sort?: (row: Row) => string | number;
  cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string;
  sorted?: string;
  onSort?: (sorted: string) => void;
}

function classOf<Row>(column: Column<Row>): string {
  return `${column.number ? 'number ' : ''}${column.wide ? 'wide-only' : ''}`;
}

/** "lag" sorts by that column downwards, "lag-up" upwards. */
export function sortRows<Row>(rows: Row[], columns: Column<Row>[], sorted: string): Row[] {
  const up = sorted.endsWith('-up');
  const sort = columns.find((column) => column.key === sorted.replace(/-up$/, ''))?.sort;
  if (!sort) return rows;
  const keyed = rows.map((row) => [sort(row), row] as const);
  keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
  return keyed.map(([, row]) => row);
}

function Head<Row>(props: TableProps<Row>) {
  const [key, up] = [props.sorted?.replace(/-up$/, ''), props.sorted?.endsWith('-up')];
  return (
    <thead>
      <tr>
        {props.columns.map((column) => (
          <th key={column.key} scope="col" class={classOf(column)} aria-sort={column.key === key ? (up ? 'ascending' : 'descending') : undefined}>
            {column.sort && props.onSort ? (
              <button type="button" onClick={() => props.onSort?.(column.key === key && !up ? `${column.key}-up` : column.key)}>
                {column.title}<span aria-hidden="true">{column.key === key ? (up ? ' ▲' : ' ▼') : ''}</span>
              </button>
            ) : column.title || <span class="hidden">Actions</span>}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Body<Row>(props: { columns: Column<Row>[]; row: Row }) {
  return (
    <tr>
      {props.columns.map((column, place) => place === 0
        ? <th key={column.key} scope="row" class={classOf(column)}>{column.cell(props.row)}</th>
        : <td key={column.key} class={classOf(column)}>{column.cell(props.row)}</td>)}
    </tr>
  );
}

export function Table<Row>(props: TableProps<Row>) {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label={props.label}>
      <table>
        <Head {...props} />
        <tbody>
          {props.rows.map((row) => <Body key={props.rowKey(row)} columns={props.columns} row={row} />)}
        </tbody>
      </table>
    </div>
  );
}

const kRowPixels = 41;
const kSpareRows = 12;

/** Rows of one height in a box that scrolls; only those in sight are in the page. */
export function LongTable<Row>(props: TableProps<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 900 });
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight });
    look();
    element.addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      element.removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, []);
  const first = Math.max(0, Math.floor(view.top / kRowPixels) - kSpareRows);
  const last = Math.min(props.rows.length, Math.ceil((view.top + view.height) / kRowPixels) + kSpareRows);
  return (
    <div class="table-box long" ref={box} tabIndex={0} role="region" aria-label={props.label}>
      <table aria-rowcount={props.rows.length}>
        <Head {...props} />
        <tbody>
          <tr class="spacer" aria-hidden="true"><td colSpan={props.columns.length} style={{ height: `${first * kRowPixels}px` }} /></tr>
          {props.rows.slice(first, last).map((row) => <Body key={props.rowKey(row)} columns={props.columns} row={row} />)}
          <tr class="spacer" aria-hidden="true"><td colSpan={props.columns.length} style={{ height: `${(props.rows.length - last) * kRowPixels}px` }} /></tr>
        </tbody>
      </table>
    </div>
  );
}

export function Pager(props: { offset: number; limit: number; shown: number; total?: number; onMove: (offset: number) => void }) {
  const more = props.total === undefined ? props.shown === props.limit : props.offset + props.shown < props.total;
  if (props.offset === 0 && !more) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={props.offset === 0} onClick={() => props.onMove(Math.max(0, props.offset - props.limit))}>Newer</button>
      <span class="muted">{props.offset + 1} to {props.offset + props.shown}{props.total === undefined ? '' : ` of ${props.total.toLocaleString('en')}`}</span>
      <button type="button" disabled={!more} onClick={() => props.onMove(props.offset + props.limit)}>Older</button>
    </nav>
  );
}
