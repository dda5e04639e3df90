// What the reader may do, as the broker says: a role, and for some tokens only some queues. What would be refused is not
// offered. Before the broker has answered, nothing is.
import { roleOf, type Operation } from './api';
import type { Replies } from './generated/api';
import { useReply } from './hooks';

type Caller = Replies['whoAmI'];
type Verb = 'push' | 'pop' | 'admin';

const ranks: Record<string, number> = { none: 0, 'read-only': 1, 'read-write': 2, admin: 3 };

// What each change asks of a token that is limited to some queues; changes that are not here concern all queues.
const verbs: Partial<Record<Operation, Verb>> = {
  push: 'push',
  seekQueue: 'pop',
  configureQueue: 'admin',
  clearQueue: 'admin',
  deleteQueue: 'admin',
  deletePartition: 'admin',
  deleteGroupOfQueue: 'admin',
  retryMessage: 'admin',
  deadLetterMessage: 'admin',
  deleteMessage: 'admin',
  redriveDeadLetters: 'admin',
  purgeDeadLetters: 'admin',
};

/** `*` stands for any characters, every other character for itself. */
export function matches(pattern: string, queue: string): boolean {
  const text = pattern.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&')).join('.*');
  return new RegExp(`^${text}$`, 'su').test(queue);
}

/** Whether the caller may; without a queue, whether there is one that he may do it to. */
export function mayDo(caller: Caller | undefined, operation: Operation, queue?: string): boolean {
  if (!caller || (ranks[caller.role] ?? 0) < (ranks[roleOf(operation)] ?? 3)) return false;
  if (!caller.queues) return true;
  const verb = verbs[operation];
  const patterns = verb ? caller.queues[verb] : [];
  return queue === undefined ? patterns.length > 0 : patterns.some((pattern) => matches(pattern, queue));
}

export interface Rights {
  known: boolean;
  /** The broker has said so, or could not be asked: the page need not wait any longer. */
  asked: boolean;
  admin: boolean;
  /** The token is for some queues only: what is about all of them is refused. */
  limited: boolean;
  subject: string | null;
  role: string;
}

function rightsOf(caller: Caller | undefined, asked: boolean): Rights {
  const lists = caller?.queues;
  const limited = Boolean(lists) && ![lists?.push, lists?.pop, lists?.admin].some((list) => list?.includes('*'));
  return {
    known: caller !== undefined, asked, limited, subject: caller?.subject ?? null, role: caller?.role ?? '',
    // The pages of administrators are about all queues.
    admin: caller?.role === 'admin' && (!lists || lists.admin.includes('*')),
  };
}

const useCaller = () => useReply('whoAmI', {}, 30_000);

export function useRights(): Rights {
  const caller = useCaller();
  return rightsOf(caller.data, caller.at > 0);
}

/** Whether an operation is to be offered to this reader: for this queue or, without one, at all. */
export function useMay(operation: Operation, queue?: string): boolean {
  return mayDo(useCaller().data, operation, queue);
}
