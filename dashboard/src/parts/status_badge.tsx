// What became of a message, in one word and one colour.
import { Badge, type Tone } from './basics';

const tones: Record<string, [Tone, string]> = {
  pending: ['quiet', 'waiting'],
  processing: ['accent', 'with a consumer'],
  completed: ['good', 'done'],
  dead_letter: ['bad', 'dead letter'],
};

export function StatusBadge(props: { status: string }) {
  const [tone, text] = tones[props.status] ?? ['quiet', props.status];
  return <Badge tone={tone}>{text}</Badge>;
}
