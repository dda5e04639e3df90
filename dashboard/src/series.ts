// Points of reports as the lines of charts.
import { brokerNow } from './clock';

/** Seconds of each point, oldest first; `newestFirst` says how the report orders them. */
export function timesOf<P>(points: P[], time: (point: P) => string): number[] {
  return points.map((point) => Date.parse(time(point)) / 1000);
}

export function oldestFirst<P>(points: P[], time: (point: P) => string): P[] {
  return [...points].sort((a, b) => (time(a) < time(b) ? -1 : 1));
}

/** The point of the current minute is not full yet and would look like a fall. */
export function fullPoints<P>(points: P[], time: (point: P) => string, bucketMinutes: number): P[] {
  const now = brokerNow();
  return oldestFirst(points, time).filter((point) => Date.parse(time(point)) + bucketMinutes * 60_000 <= now);
}
