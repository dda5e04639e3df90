// Dead letters: filtered, looked into, compared, and pushed again, one, many or all, with the progress shown.
import { useRef, useState } from 'preact/hooks';
import { ask } from '../api';
import type { Replies } from '../generated/api';
import { count, groupName, moment, plural } from '../format';
import { useAction, useReply } from '../hooks';
import { useMay, useRights } from '../rights';
import { Card, Dialog, Empty, Problem, Shown, TextField } from '../parts/basics';
import { Confirm } from '../parts/confirm';
import { Payload } from '../parts/payload';
import { Pager, Table } from '../parts/table';
import { poller } from '../poll';
import { href, setParams, useParam } from '../route';
import { apiTime, NameAQueue } from './messages';

type Letter = Replies['listDeadLetters']['messages'][number];

const kPage = 100;
// So many in one call: progress moves, and a stop is soon heard.
const kRedriveBatch = 200;
const keyOf = (letter: Letter) => `${letter.id}\n${letter.consumerGroup}`;

interface Progress {
  done: number;
  total: number;
  what: string;
  running: boolean;
  error: string;
}

function ProgressLine(props: { progress: Progress; onStop: () => void }) {
  const { progress } = props;
  return (
    <div class="progress" role="status">
      <progress max={Math.max(1, progress.total)} value={progress.done} aria-label="Dead letters pushed again" />
      <span>{count(progress.done)} of {plural(progress.total, 'dead letter')} pushed again{progress.running ? '…' : progress.error ? '' : '. Done.'}</span>
      {progress.running && <button type="button" onClick={props.onStop}>Stop</button>}
      {progress.error && <Problem message={progress.error} />}
    </div>
  );
}

function Compare(props: { letters: Letter[]; onClose: () => void }) {
  return (
    <Dialog title={props.letters.length > 1 ? 'Compare dead letters' : 'A dead letter'} onClose={props.onClose} wide>
      <div class="compare">
        {props.letters.map((letter) => (
          <section key={keyOf(letter)}>
            <h3>{letter.transactionId}</h3>
            <p class="bad">{letter.errorMessage || '(no text)'}</p>
            <p class="muted">{letter.queue} / {letter.partition}, group {groupName(letter.consumerGroup)}, {plural(letter.retryCount, 'failure')}, died {moment(letter.failedAt)}</p>
            <Payload partitionId={letter.partitionId} transactionId={letter.transactionId} what={`the payload of ${letter.transactionId}`} />
          </section>
        ))}
      </div>
    </Dialog>
  );
}

export function DeadLettersPage() {
  const [queue] = useParam('queue');
  const [group] = useParam('group');
  const [partition] = useParam('partition');
  const [from] = useParam('from');
  const [to] = useParam('to');
  const [offset, setOffset] = useParam('offset', '0');
  const change = (name: string) => (value: string) => { setPicked(new Set()); setParams({ [name]: value, offset: '' }); };
  const filters = { queue, consumerGroup: group, partition, from: apiTime(from), to: apiTime(to) };
  const filtered = Object.values(filters).some(Boolean);
  const { known, limited } = useRights();
  const unnamed = limited && !queue;
  // Payloads are asked for when somebody looks inside: a hundred of them may be long.
  const letters = useReply('listDeadLetters', !known || unnamed ? null : { ...filters, payloadMax: 0, limit: kPage, offset }, 5_000);
  const [picked, setPicked] = useState(new Set<string>());
  const [compared, setCompared] = useState<Letter[]>([]);
  const [asking, setAsking] = useState<'' | 'redrive' | 'purge'>('');
  const [progress, setProgress] = useState<Progress | null>(null);
  const stopped = useRef(false);
  const [mayRedrive, mayPurge] = [useMay('redriveDeadLetters', queue || undefined), useMay('purgeDeadLetters', queue || undefined)];
  const page = letters.data?.messages ?? [];
  const chosen = page.filter((letter) => picked.has(keyOf(letter)));

  async function run(total: number, step: (done: number) => Promise<number | null>): Promise<void> {
    stopped.current = false;
    let done = 0;
    const say = (more: Partial<Progress>) => setProgress({ done, total, what: '', running: true, error: '', ...more });
    say({});
    try {
      while (!stopped.current) {
        const moved = await step(done);
        if (moved === null) break;
        done += moved;
        say({});
      }
      say({ running: false });
    } catch (problem) {
      say({ running: false, error: problem instanceof Error ? problem.message : String(problem) });
    }
    setPicked(new Set());
    poller.refresh();
  }

  const redrivePicked = useAction(async () => {
    const left = [...chosen];
    await run(left.length, async () => {
      const letter = left.shift();
      if (!letter) return null;
      await ask('retryMessage', { partitionId: letter.partitionId, transactionId: letter.transactionId }, { consumerGroup: letter.consumerGroup });
      return 1;
    });
  });

  function redriveAll(total: number): void {
    let until = filters.to;
    let more = true;
    void run(total, async () => {
      if (!more) return null;
      const body = Object.fromEntries(Object.entries({ ...filters, to: until }).filter(([, value]) => value));
      const reply = await ask('redriveDeadLetters', {}, { ...body, limit: kRedriveBatch });
      until = reply.to;
      more = reply.more;
      return reply.redriven;
    });
  }

  async function purgeAll(): Promise<void> {
    let until = filters.to;
    for (let more = true; more;) {
      const reply = await ask('purgeDeadLetters', { ...filters, to: until, all: !filtered && !until ? true : undefined });
      until = reply.to;
      more = reply.more;
    }
  }

  return (
    <>
      <div class="page-head">
        <h1>Dead letters</h1>
        {letters.data && <span class="muted">{plural(letters.data.total, 'message')}{filtered ? ' match' : ''}</span>}
        {letters.data && letters.data.total > 0 && (
          <span class="buttons">
            {mayRedrive && <button type="button" class="primary" disabled={progress?.running} onClick={() => setAsking('redrive')}>Redrive {filtered ? 'all that match' : 'all'}</button>}
            {mayPurge && <button type="button" class="danger" disabled={progress?.running} onClick={() => setAsking('purge')}>Delete {filtered ? 'all that match' : 'all'}</button>}
          </span>
        )}
      </div>
      {progress && <Card><ProgressLine progress={progress} onStop={() => { stopped.current = true; }} /></Card>}
      <Card>
        <div class="filters">
          <TextField label="Queue" filter value={queue} onInput={change('queue')} placeholder="exact name" />
          <TextField label="Group" value={group} onInput={change('group')} placeholder="exact name" />
          <TextField label="Partition" value={partition} onInput={change('partition')} placeholder="exact name" />
          <TextField label="Died after" type="datetime-local" value={from} onInput={change('from')} />
          <TextField label="Died before" type="datetime-local" value={to} onInput={change('to')} />
        </div>
        {unnamed ? <NameAQueue /> : <Shown of={letters} what="dead letters">
          {(data) => data.messages.length === 0 ? (
            <Empty title={filtered ? 'No dead letter matches' : 'No message has died'}>{filtered ? 'Widen the filters above.' : 'A message that fails more often than its queue allows is kept here, with the reason.'}</Empty>
          ) : (
            <>
              <div class="selection" aria-live="polite">
                <span class="muted">{picked.size === 0 ? 'Pick some to compare or to push again.' : `${plural(chosen.length, 'dead letter')} picked`}</span>
                {chosen.length > 0 && <button type="button" onClick={() => setCompared(chosen.slice(0, 4))}>{chosen.length > 1 ? 'Compare' : 'Look inside'}</button>}
                {chosen.length > 0 && mayRedrive && <button type="button" onClick={redrivePicked.run} disabled={progress?.running}>Redrive picked</button>}
              </div>
              <Table label="Dead letters" rows={data.messages} rowKey={keyOf} columns={[
                { key: 'id', title: 'Message', cell: (letter) => (
                  <label class="pick">
                    <input type="checkbox" aria-label={`Pick ${letter.transactionId}`} checked={picked.has(keyOf(letter))} onChange={(event) => {
                      const next = new Set(picked);
                      if (event.currentTarget.checked) next.add(keyOf(letter));
                      else next.delete(keyOf(letter));
                      setPicked(next);
                    }} />
                    <a href={href('message', [letter.partitionId, letter.transactionId])}>{letter.transactionId}</a>
                  </label>
                ) },
                { key: 'error', title: 'Error', cell: (letter) => <span class="clip" title={letter.errorMessage ?? ''}>{letter.errorMessage || '(no text)'}</span> },
                { key: 'queue', title: 'Queue', wide: true, cell: (letter) => <a href={href('queue', [letter.queue])}>{letter.queue}</a> },
                { key: 'partition', title: 'Partition', wide: true, cell: (letter) => <a href={href('partition', [letter.queue, letter.partition])}>{letter.partition}</a> },
                { key: 'group', title: 'Group', wide: true, cell: (letter) => groupName(letter.consumerGroup) },
                { key: 'time', title: 'Died', cell: (letter) => moment(letter.failedAt) },
                { key: 'look', title: '', cell: (letter) => <button type="button" class="small" aria-label={`Look inside ${letter.transactionId}`} onClick={() => setCompared([letter])}>Look</button> },
              ]} />
              <Pager offset={Number(offset)} limit={kPage} shown={data.messages.length} total={data.total} onMove={(next) => setOffset(String(next))} />
            </>
          )}
        </Shown>}
      </Card>
      {compared.length > 0 && <Compare letters={compared} onClose={() => setCompared([])} />}
      {asking === 'redrive' && (
        <Confirm title="Push dead letters again" button={`Redrive ${count(letters.data?.total ?? 0)}`} tone="primary" onClose={() => setAsking('')}
          run={async () => redriveAll(letters.data?.total ?? 0)}>
          <p>Pushes {plural(letters.data?.total ?? 0, 'dead letter')}{filtered ? ' that match the filters' : ''} again, each as a new message for the group in which it died. What dies again meanwhile is not pushed twice.</p>
        </Confirm>
      )}
      {asking === 'purge' && (
        <Confirm title="Delete dead letters" button="Delete them" typed="delete" onClose={() => setAsking('')} run={purgeAll}>
          <p>Deletes {plural(letters.data?.total ?? 0, 'dead letter')}{filtered ? ' that match the filters' : ''}. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}
