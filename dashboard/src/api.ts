// Requests to the broker that serves this page. The list of operations is generated from the description of the API.
// A token, where the broker wants one, lives in this tab's session and nowhere else.
import { operations, type Replies } from './generated/api';

export type Operation = keyof Replies;
export type Values = Record<string, string | number | boolean | null | undefined>;

export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const kTokenKey = 'queen-token';
const unauthorized = new EventTarget();

export const token = {
  get: (): string => sessionStorage.getItem(kTokenKey) ?? '',
  set(value: string): void {
    if (value) sessionStorage.setItem(kTokenKey, value);
    else sessionStorage.removeItem(kTokenKey);
  },
};

export function onUnauthorized(listener: () => void): void {
  unauthorized.addEventListener('401', listener);
}

/** The address of an operation: names of the path from `values`, the rest as its query. */
export function pathOf(operation: Operation, values: Values = {}): string {
  const query = new URLSearchParams();
  let path: string = operations[operation][1];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === '') continue;
    const place = `{${name}}`;
    if (path.includes(place)) path = path.replace(place, encodeURIComponent(String(value)));
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

async function send(method: string, path: string, body?: unknown): Promise<string> {
  const headers: Record<string, string> = {};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let reply: Response;
  let text: string;
  try {
    reply = await fetch(path, {
      method,
      headers,
      cache: 'no-store',
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
    text = await reply.text();
  } catch {
    throw new ApiError(0, 'The broker does not answer.');
  }
  if (reply.ok) return text;
  if (reply.status === 401) unauthorized.dispatchEvent(new Event('401'));
  let message = `${reply.status} ${reply.statusText}`;
  try {
    message = (JSON.parse(text) as { error?: string }).error ?? message;
  } catch {
    // Not the broker's own words: a proxy in between.
  }
  throw new ApiError(reply.status, message);
}

/** GET of any path of the API; `null` for an empty reply. */
export async function getPath(path: string): Promise<unknown> {
  const text = await send('GET', path);
  return text ? JSON.parse(text) : null;
}

export async function ask<K extends Operation>(operation: K, values: Values = {}, body?: unknown): Promise<Replies[K]> {
  const text = await send(operations[operation][0], pathOf(operation, values), body);
  return (text ? JSON.parse(text) : null) as Replies[K];
}

/** The reply as it came, for payloads whose numbers and order must not change. */
export function askText(operation: Operation, values: Values = {}): Promise<string> {
  return send(operations[operation][0], pathOf(operation, values));
}

export function roleOf(operation: Operation): string {
  return operations[operation][2];
}
