// What components share: polled answers, the time range of all charts, actions.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, pathOf, token, type Operation, type Values } from './api';
import { brokerNow } from './clock';
import type { Replies } from './generated/api';
import { poller, type Answer } from './poll';
import { setParams, useRoute } from './route';

export interface Polled<T> {
  data?: T;
  error?: { status: number; message: string; code: string };
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
  const [minute, setMinute] = useState(() => Math.floor(brokerNow() / 60_000));
  useEffect(() => {
    const timer = setInterval(() => setMinute(Math.floor(brokerNow() / 60_000)), 5_000);
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
          // What is refused now may not be offered any more.
          if (problem instanceof ApiError && problem.status === 403) poller.refresh();
          setError(problem instanceof Error ? problem.message : String(problem));
        })
        .finally(() => setBusy(false));
    },
  };
}
