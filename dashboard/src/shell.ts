// Commands to paste into a shell. Names come from whoever pushes: nothing in them may mean anything to the shell.
import { operations } from './generated/api';
import { pathOf, token, type Operation, type Values } from './api';

/** One word for a POSIX shell, whatever is in it: only a single quote ends what a single quote begins. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

/** A request as a curl line. A token is named, never shown. */
export function curlLine(operation: Operation, values: Values = {}, body?: unknown): string {
  const method = operations[operation][0];
  return [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(token.get() ? ['-H', '"Authorization: Bearer $QUEEN_TOKEN"'] : []),
    shellWord(location.origin + pathOf(operation, values)),
    ...(body === undefined ? [] : ['-d', shellWord(JSON.stringify(body))]),
  ].join(' ');
}

export const pushLine = (queue = 'hello', payload: unknown = { text: 'Hello, Queen' }): string =>
  curlLine('push', {}, { items: [{ queue, payload }] });
