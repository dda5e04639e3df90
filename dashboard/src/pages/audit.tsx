// Who changed what, newest first. A broker that keeps no audit trail says so.
import { usePath } from '../hooks';
import { moment } from '../format';
import { Badge, Card, Empty, Loading, Problem, TextField } from '../parts/basics';
import { Table } from '../parts/table';
import { href, setParams, useParam } from '../route';

interface Entry {
  id: string;
  at: string;
  actor: string | null;
  source: string;
  client: string | null;
  broker: string;
  action: string;
  path: string;
  queue: string | null;
  status: number;
  request: string | null;
}

export function AuditPage() {
  const [actor] = useParam('actor');
  const [action] = useParam('action');
  const [queue] = useParam('queue');
  const [before] = useParam('before');
  const change = (name: string) => (value: string) => setParams({ [name]: value, before: '' });
  const query = new URLSearchParams({ limit: '100' });
  for (const [name, value] of Object.entries({ actor, action, queue, before })) if (value) query.set(name, value);
  const { data, error } = usePath<{ entries: Entry[]; next: string | null }>(`/api/v1/audit?${query.toString()}`, 10_000);
  const filtered = Boolean(actor || action || queue);
  return (
    <>
      <h1>Audit</h1>
      <Card>
        {error?.status === 404 ? (
          <Empty title="This broker keeps no audit trail">Who makes, changes or deletes something is recorded by brokers that know their callers.</Empty>
        ) : error?.status === 403 ? (
          <Empty title="The audit trail is for administrators">Sign in with a token of that role to read it.</Empty>
        ) : error && !data ? <Problem message={error.message} /> : (
          <>
            <div class="filters">
              <TextField label="Who" filter value={actor} onInput={change('actor')} placeholder="exact name" />
              <TextField label="What" value={action} onInput={change('action')} placeholder="queue or queue.delete" />
              <TextField label="Queue" value={queue} onInput={change('queue')} placeholder="exact name" />
            </div>
            {!data ? <Loading what="the audit trail" /> : data.entries.length === 0 ? <Empty title={filtered ? 'Nothing matches' : 'Nothing has been changed yet'} /> : (
              <Table label="Audit trail" rows={data.entries} rowKey={(entry) => entry.id} columns={[
                { key: 'time', title: 'When', cell: (entry) => moment(entry.at) },
                { key: 'who', title: 'Who', cell: (entry) => entry.actor ?? <span class="muted">nobody known</span> },
                { key: 'what', title: 'What', cell: (entry) => entry.action },
                { key: 'queue', title: 'Queue', cell: (entry) => (entry.queue ? <a href={href('queue', [entry.queue])}>{entry.queue}</a> : '–') },
                { key: 'status', title: 'Answer', cell: (entry) => <Badge tone={entry.status < 300 ? 'good' : entry.status < 500 ? 'warn' : 'bad'}>{entry.status}</Badge> },
                { key: 'path', title: 'Request', wide: true, cell: (entry) => <code title={entry.request ?? ''}>{entry.path}</code> },
                { key: 'client', title: 'From', wide: true, cell: (entry) => entry.client ?? '–' },
                { key: 'source', title: 'Known by', wide: true, cell: (entry) => entry.source },
              ]} />
            )}
            {(before || data?.next) && (
              <nav class="pager" aria-label="Pages">
                <button type="button" disabled={!before} onClick={() => setParams({ before: '' })}>Newest</button>
                <button type="button" disabled={!data?.next} onClick={() => setParams({ before: data?.next ?? '' })}>Older</button>
              </nav>
            )}
          </>
        )}
      </Card>
    </>
  );
}
