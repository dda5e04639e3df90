// Asks before something is done that cannot be undone; for the worst, the name has to be typed.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../hooks';
import { Dialog, Problem, TextField } from './basics';

export function Confirm(props: {
  title: string; button: string; typed?: string; children: ComponentChildren; run: () => Promise<void>; onClose: () => void; tone?: string;
}) {
  const [typed, setTyped] = useState('');
  const action = useAction(async () => {
    await props.run();
    props.onClose();
  });
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form onSubmit={(event) => { event.preventDefault(); action.run(); }}>
        {props.children}
        {props.typed !== undefined && <TextField label={`Type ${props.typed} to go on`} value={typed} onInput={setTyped} autofocus />}
        {action.error && <Problem message={action.error} />}
        <footer>
          <button type="button" onClick={props.onClose}>Cancel</button>
          <button type="submit" class={props.tone ?? 'danger'} disabled={action.busy || (props.typed !== undefined && typed !== props.typed)}>{props.button}</button>
        </footer>
      </form>
    </Dialog>
  );
}
