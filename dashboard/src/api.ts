// Requests to the broker that serves this page. The list of operations is generated from the description of the API.
// A token, where the broker wants one, lives in this tab's session and nowhere else.
import { heardDate } from './clock';
import { operations, type Replies } from './generated/api';

export type Operation = keyof Replies;
export type Values = Record<string, string | number | boolean | null | undefined>;

/** `status` 0: there was no answer. `code` is the broker's own word for what is wrong. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly code = '') {
    super(message);
  }
}

export const kHealthPath = '/health';
// A broker that hangs is as good as none: so long is waited for an answer. Changes may take longer.
const kHealthMs = 4_000;
const kQuestionMs = 10_000;
const kChangeMs = 60_000;

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

/** A path cannot have every name: browsers take "." and ".." out of it, and a word of another route hides its like. */
function fitsPath(path: string, place: string, name: string): boolean {
  return !['', '.', '..'].includes(name) && !Object.values(operations).some(([, other]) => other === path.replace(place, () => name));
}

/** The address of an operation: names of the path from `values`, the rest as its query. */
export function pathOf(operation: Operation, values: Values = {}): string {
  const query = new URLSearchParams();
  const template: string = operations[operation][1];
  let path = template;
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue;
    const place = `{${name}}`;
    const text = String(value);
    if (!template.includes(place)) {
      if (text) query.set(name, text);
    } else if (fitsPath(template, place, text)) {
      path = path.replace(place, encodeURIComponent(text));
    } else {
      path = path.replace(place, '-');
      query.set(`:${name}`, text);
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function waitedMs(method: string, path: string): number {
  return method !== 'GET' ? kChangeMs : path === kHealthPath ? kHealthMs : kQuestionMs;
}

function noAnswer(method: string, waitMs: number, problem: unknown): ApiError {
  if (!(problem instanceof DOMException) || problem.name !== 'TimeoutError') return new ApiError(0, 'The broker does not answer.');
  const waited = `The broker did not answer within ${waitMs / 1000} s.`;
  return new ApiError(0, method === 'GET' ? waited : `${waited} Whether it was done is not known.`);
}

async function send(method: string, path: string, body?: unknown, waitMs = waitedMs(method, path)): Promise<string> {
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
      signal: AbortSignal.timeout(waitMs),
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
    heardDate(reply.headers.get('Date'));
    text = await reply.text();
  } catch (problem) {
    throw noAnswer(method, waitMs, problem);
  }
  if (reply.ok) return text;
  if (reply.status === 401) unauthorized.dispatchEvent(new Event('401'));
  let message = `${reply.status} ${reply.statusText}`;
  let code = '';
  try {
    const said = JSON.parse(text) as { error?: string; code?: string };
    [message, code] = [said.error ?? message, said.code ?? ''];
  } catch {
    // Not the broker's own words: a proxy in between.
  }
  throw new ApiError(reply.status, message, code);
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
export function askText(operation: Operation, values: Values = {}, waitMs?: number): Promise<string> {
  return send(operations[operation][0], pathOf(operation, values), undefined, waitMs);
}

export function roleOf(operation: Operation): string {
  return operations[operation][2];
}
