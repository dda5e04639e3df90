// The form that makes a queue or changes its options; every option says what it does.
import { useState } from 'preact/hooks';
import { ask } from '../api';
import type { QueueOptions } from '../generated/api';
import { useAction } from '../hooks';
import { go } from '../route';
import { Dialog, Field, Problem, TextField } from './basics';

type Name = keyof QueueOptions;

// name, unit, what it does; the order is that of the form.
const numbers: [Name, string, string, string][] = [
  ['leaseTime', 'Lease', 's', 'How long a consumer may hold what it popped. After that it is delivered again.'],
  ['retryLimit', 'Retries', 'times', 'Failures that are delivered again. The next one makes a dead letter; 0 at the first failure.'],
  ['retryDelay', 'Retry delay', 'ms', 'Wait before a failed message is delivered again. It holds up its partition, and only that.'],
  ['maxDeliveries', 'Deliveries at most', 'times', 'Deliveries without any verdict after which a message at the head of its partition is a dead letter. 0: no limit.'],
  ['delayedProcessing', 'Delay', 's', 'A message stays invisible for so long after it was pushed.'],
  ['windowBuffer', 'Window', 's', 'A partition is held back until nothing new came for so long; then it is delivered as a whole.'],
  ['maxSize', 'Size at most', 'messages', 'Pushes beyond about so many unconsumed messages fail with “Queue is full”. 0: no limit.'],
  ['maxWaitTimeSeconds', 'Wait at most', 's', 'Messages that nobody consumed for so long are removed. 0: never.'],
  ['retentionSeconds', 'Keep everything for', 's', 'With retention on, every older message is deleted. 0: kept.'],
  ['completedRetentionSeconds', 'Keep consumed for', 's', 'With retention on, older messages that every group has passed are deleted. 0: kept.'],
  ['priority', 'Priority', '', 'Pops by namespace or task serve the highest first.'],
];
const switches: [Name, string, string][] = [
  ['retentionEnabled', 'Retention', 'Turns the two “keep” options on.'],
  ['encryptionEnabled', 'Encrypted at rest', 'Payloads are stored encrypted. The broker needs QUEEN_ENCRYPTION_KEY.'],
];
export const defaultOptions: QueueOptions = {
  leaseTime: 300, retryLimit: 3, retryDelay: 0, maxDeliveries: 0, deadLetterQueue: false, dlqAfterMaxRetries: false,
  delayedProcessing: 0, windowBuffer: 0, retentionEnabled: false, retentionSeconds: 0, completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0, maxSize: 0, ttl: 3600, priority: 0, encryptionEnabled: false,
};

/** Options as rows of name, value and meaning. */
export function optionRows(options: QueueOptions): [name: string, value: string, meaning: string][] {
  return [
    ...numbers.map(([name, title, unit, meaning]): [string, string, string] => [title, `${options[name]} ${unit}`, meaning]),
    ...switches.map(([name, title, meaning]): [string, string, string] => [title, options[name] ? 'on' : 'off', meaning]),
  ];
}

export function QueueForm(props: { queue?: string; options?: QueueOptions; onClose: () => void }) {
  const before = props.options ?? defaultOptions;
  const [name, setName] = useState(props.queue ?? '');
  const [options, setOptions] = useState<QueueOptions>(before);
  const save = useAction(async () => {
    const changed = Object.fromEntries(Object.entries(options).filter(([key, value]) => value !== before[key as Name]));
    await ask('configureQueue', {}, { queue: name, options: changed });
    props.onClose();
    if (!props.queue) go('queue', [name]);
  });
  const set = (key: Name, value: number | boolean) => setOptions({ ...options, [key]: value });
  return (
    <Dialog title={props.queue ? `Options of ${props.queue}` : 'Make a queue'} onClose={props.onClose} wide>
      <form onSubmit={(event) => { event.preventDefault(); save.run(); }}>
        {!props.queue && <TextField label="Name" value={name} onInput={setName} required autofocus hint="A push to a name that does not exist makes a queue, too." />}
        <div class="form-grid">
          {numbers.map(([key, title, unit, meaning]) => (
            <Field key={key} label={unit ? `${title} (${unit})` : title} hint={meaning}>
              {(id) => <input id={id} type="number" min={0} step={1} required value={Number(options[key])} onInput={(event) => set(key, event.currentTarget.valueAsNumber)} />}
            </Field>
          ))}
          {switches.map(([key, title, meaning]) => (
            <Field key={key} label={title} hint={meaning}>
              {(id) => <input id={id} type="checkbox" checked={Boolean(options[key])} onChange={(event) => set(key, event.currentTarget.checked)} />}
            </Field>
          ))}
        </div>
        {save.error && <Problem message={save.error} />}
        <footer>
          <button type="button" onClick={props.onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={save.busy}>{props.queue ? 'Save' : 'Make it'}</button>
        </footer>
      </form>
    </Dialog>
  );
}
