// What components share: polled answers, the time range of all charts, what the reader may do.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, ApiError, pathOf, roleOf, token, type Operation, type Values } from './api';
import type { Replies } from './generated/api';
import { poller, type Answer } from './poll';
import { setParams, useRoute } from './route';

export interface Polled<T> {
  data?: T;
  error?: { status: number; message: string };
  at: number;
}

/** Seconds by which the range of `after` begins later; null where the two are not the same question otherwise. */
function rangeMoved(before: string | null, after: string | null): number | null {
  if (!before || !after) return null;
  const [one, other] = [before, after].map((path) => new URL(path, location.origin));
  const [from, to] = [one, other].map((url) => Date.parse(url?.searchParams.get('from') ?? '') / 1000);
  for (const url of [one, other]) for (const name of ['from', 'to']) url?.searchParams.delete(name);
  return one?.href === other?.href ? Number(to) - Number(from) : null;
}

// A range that ends now begins a little later each minute.
const kRollingSeconds = 300;

/** The answer of a path. While the same question about another time is on its way, the page keeps what it shows. */
export function usePath<T>(path: string | null, everyMs: number): Polled<T> {
  const [state, setState] = useState<{ path: string | null; answer: Answer }>({ path, answer: { at: 0 } });
  const before = useRef<string | null>(null);
  useEffect(() => {
    const moved = rangeMoved(before.current, path);
    before.current = path;
    if (path === null) return undefined;
    return poller.watch(path, everyMs, (answer) => setState((old) => {
      const kept = answer.error && answer.data === undefined && rangeMoved(old.path, path) !== null ? old.answer.data : answer.data;
      return { path, answer: { ...answer, data: kept } };
    }), moved !== null && moved > 0 && moved <= kRollingSeconds);
  }, [path, everyMs]);
  const same = state.path === path || rangeMoved(state.path, path) !== null;
  return (same ? state.answer : { at: 0 }) as Polled<T>;
}

/** The answer of an operation, asked again every `everyMs`; `values` null asks nothing. */
export function useReply<K extends Operation>(operation: K, values: Values | null = {}, everyMs = 5_000): Polled<Replies[K]> {
  return usePath<Replies[K]>(values && pathOf(operation, values), everyMs);
}

export const ranges = { '15m': 900, '1h': 3600, '6h': 21_600, '24h': 86_400, '7d': 604_800 } as const;

export interface Range {
  name: string;
  /** As parameters of a report: rounded, so that all tabs ask the same question. */
  values: { from: string; to?: string };
  seconds: number;
}

/** The range that all charts show: a length up to now, or two times in seconds joined by "-". */
export function useRange(): Range {
  const name = useRoute().params.get('range') ?? '1h';
  const [minute, setMinute] = useState(() => Math.floor(Date.now() / 60_000));
  useEffect(() => {
    const timer = setInterval(() => setMinute(Math.floor(Date.now() / 60_000)), 5_000);
    return () => clearInterval(timer);
  }, []);
  return useMemo(() => {
    const iso = (epoch: number) => new Date(epoch * 1000).toISOString();
    const fixed = /^(\d{9,11})-(\d{9,11})$/.exec(name);
    if (fixed) {
      const [from, to] = [Number(fixed[1]), Number(fixed[2])];
      return { name, values: { from: iso(from), to: iso(to) }, seconds: to - from };
    }
    const length = ranges[name as keyof typeof ranges] ?? 3600;
    return { name: name in ranges ? name : '1h', values: { from: iso((minute + 1) * 60 - length) }, seconds: length };
  }, [name, minute]);
}

export function setRange(name: string): void {
  setParams({ range: name === '1h' ? '' : name });
}

export interface Rights {
  write: boolean;
  admin: boolean;
}

/** Asks what this reader may do: an empty push stores nothing, and the switches are for administrators only. */
export async function learnRights(): Promise<Rights> {
  const refused = (problem: unknown) => problem instanceof ApiError && (problem.status === 403 || problem.status === 401);
  const allowed = (question: Promise<unknown>) => question.then(() => true, (problem) => !refused(problem));
  const [write, admin] = await Promise.all([allowed(ask('push', {}, { items: [] })), allowed(ask('getMaintenance'))]);
  return { write, admin };
}

// Nothing is offered before it is known.
let rights: Rights = { write: false, admin: false };
const rightsChanged = new EventTarget();

export async function refreshRights(): Promise<void> {
  rights = await learnRights();
  rightsChanged.dispatchEvent(new Event('change'));
}

export function useRights(): Rights {
  const [value, setValue] = useState(rights);
  useEffect(() => {
    const changed = () => setValue(rights);
    changed();
    rightsChanged.addEventListener('change', changed);
    return () => rightsChanged.removeEventListener('change', changed);
  }, []);
  return value;
}

/** Whether an operation is to be offered to this reader at all. */
export function useMay(operation: Operation): boolean {
  const may = useRights();
  const role = roleOf(operation);
  return role === 'admin' ? may.admin : role === 'read-write' ? may.write : true;
}

export function signOut(): void {
  token.set('');
  location.reload();
}

/** Runs an action once at a time and keeps what went wrong. */
export function useAction(run: () => Promise<void>): { run: () => void; busy: boolean; error: string } {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  return {
    busy,
    error,
    run: () => {
      if (busy) return;
      setBusy(true);
      setError('');
      run()
        .then(() => poller.refresh())
        .catch((problem: unknown) => {
          if (problem instanceof ApiError && problem.status === 403) void refreshRights();
          setError(problem instanceof Error ? problem.message : String(problem));
        })
        .finally(() => setBusy(false));
    },
  };
}
