// Numbers and times as people read them, each with its unit.
import { brokerNow } from './clock';

const countFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function count(value: number): string {
  return countFormat.format(value);
}

/** Short for axes and tiles: 12.3k, 4.5M. */
export function shortCount(value: number): string {
  const size = Math.abs(value);
  if (size < 1000) return size < 10 && size % 1 ? value.toFixed(1) : Math.round(value).toString();
  for (const [unit, factor] of [['k', 1e3], ['M', 1e6], ['G', 1e9]] as const) {
    if (size < factor * 999.5) return `${(value / factor).toFixed(size < factor * 99.5 ? 1 : 0)}${unit}`;
  }
  return value.toExponential(1);
}

export function rate(value: number): string {
  return `${value !== 0 && Math.abs(value) < 10 ? value.toFixed(2) : shortCount(value)}/s`;
}

export function bytes(value: number): string {
  let size = value;
  for (const unit of ['B', 'KiB', 'MiB', 'GiB', 'TiB']) {
    if (Math.abs(size) < 1023.5 || unit === 'TiB') return `${size < 10 && unit !== 'B' ? size.toFixed(1) : Math.round(size)} ${unit}`;
    size /= 1024;
  }
  return '';
}

/** One digit behind the point where there are few before it: an axis has no two labels alike. */
const short = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value).toString());

export function seconds(value: number): string {
  if (value < 0.001) return '0 s';
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  if (value < 7200) return `${short(value / 60)} min`;
  if (value < 172800) return `${short(value / 3600)} h`;
  return `${Math.round(value / 86400)} d`;
}

export const milliseconds = (value: number): string => seconds(value / 1000);

export const percent = (value: number): string => `${value.toFixed(1)} %`;

export function clock(time: string | number | Date): string {
  return new Date(time).toLocaleTimeString('en-GB');
}

export function moment(time: string | null | undefined): string {
  if (!time) return '–';
  const date = new Date(time);
  const day = date.toDateString() === new Date(brokerNow()).toDateString() ? '' : `${date.toLocaleDateString('en-CA')} `;
  return day + clock(date);
}

export function age(time: string | null | undefined): string {
  if (!time) return '–';
  return `${seconds(Math.max(0, (brokerNow() - Date.parse(time)) / 1000))} ago`;
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

/** Consumers that name no group share one with a technical name. */
export function groupName(name: string): string {
  return name === '__QUEUE_MODE__' ? '(no group)' : name;
}
