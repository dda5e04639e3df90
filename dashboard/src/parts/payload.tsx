// The payload of a message, digit by digit as it was pushed. Of a long one the beginning, and a way to the whole.
import { useEffect, useState } from 'preact/hooks';
import { askText } from '../api';
import { bytes } from '../format';
import { useAction } from '../hooks';
import { Loading, Problem } from './basics';
import { field, readJson, textOf, type JsonNode } from './json_text';
import { JsonView } from './json_view';

// What a page shows of a payload: enough to read, little enough to fold and scroll.
const kShownBytes = 128 * 1024;
// A whole message may be as long as the broker takes: this long is waited for it.
const kWholeMs = 300_000;

type Shown = { node: JsonNode } | { beginning: string; size: number };

/** What a reply about a message says of its payload. */
export function readPayload(reply: string): Shown {
  const message = readJson(reply);
  const beginning = field(message, 'payloadBeginning');
  if (!beginning) return { node: field(message, 'payload') ?? { kind: 'leaf', text: 'null', type: 'word' } };
  return { beginning: textOf(beginning), size: Number(textOf(field(message, 'payloadBytes'))) };
}

function save(text: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function Beginning(props: { text: string; size: number; values: { partitionId: string; transactionId: string }; what: string }) {
  const whole = useAction(async () => save(await askText('getMessage', props.values, kWholeMs), `${props.values.transactionId}.json`));
  return (
    <>
      <div class="cut" role="status">
        <span>This is the beginning of {bytes(props.size)}.</span>
        <button type="button" onClick={whole.run} disabled={whole.busy}>{whole.busy ? 'Downloading…' : 'Download the whole message'}</button>
      </div>
      {whole.error && <Problem message={whole.error} />}
      <pre class="json" tabIndex={0} role="region" aria-label={props.what}>{props.text}…</pre>
    </>
  );
}

export function Payload(props: { partitionId: string; transactionId: string; what: string }) {
  const { partitionId, transactionId, what } = props;
  const [shown, setShown] = useState<Shown | null>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    let ended = false;
    setShown(null);
    setError('');
    askText('getMessage', { partitionId, transactionId, payloadMax: kShownBytes }).then(
      (reply) => { if (!ended) setShown(readPayload(reply)); },
    ).catch((problem: unknown) => { if (!ended) setError(problem instanceof Error ? problem.message : String(problem)); });
    return () => { ended = true; };
  }, [partitionId, transactionId]);
  if (error) return <Problem message={error} />;
  if (!shown) return <Loading what={what} />;
  if ('node' in shown) return <JsonView node={shown.node} what={what} />;
  return <Beginning text={shown.beginning} size={shown.size} values={{ partitionId, transactionId }} what={what} />;
}
