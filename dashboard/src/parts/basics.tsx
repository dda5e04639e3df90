// The small pieces that every page is made of.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Polled } from '../hooks';

export function Card(props: { title?: ComponentChildren; note?: ComponentChildren; actions?: ComponentChildren; class?: string; children: ComponentChildren }) {
  return (
    <section class={`card ${props.class ?? ''}`}>
      {props.title && (
        <header>
          <h2>{props.title}</h2>
          {props.note && <span class="muted">{props.note}</span>}
          {props.actions && <div class="actions">{props.actions}</div>}
        </header>
      )}
      {props.children}
    </section>
  );
}

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'accent';

export function Badge(props: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${props.tone}`}>{props.children}</span>;
}

export function Tile(props: { label: string; value: ComponentChildren; note?: ComponentChildren; tone?: Tone; href?: string }) {
  const inside = (
    <>
      <span class="tile-label">{props.label}</span>
      <span class={`tile-value ${props.tone ?? ''}`}>{props.value}</span>
      <span class="tile-note">{props.note ?? ' '}</span>
    </>
  );
  return props.href ? <a class="tile" href={props.href}>{inside}</a> : <div class="tile">{inside}</div>;
}

export function Loading(props: { what: string }) {
  return <p class="state" role="status"><span class="spinner" aria-hidden="true" />Loading {props.what}…</p>;
}

export function Problem(props: { message: string; children?: ComponentChildren }) {
  return <div class="state problem" role="alert"><strong>That did not work.</strong> {props.message}{props.children}</div>;
}

export function Empty(props: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="state empty">
      <p class="empty-title">{props.title}</p>
      {props.children && <p>{props.children}</p>}
      {props.command && <Command text={props.command} />}
    </div>
  );
}

/** Shows what was asked for: the data, or that it is on its way, or why there is none. */
export function Shown<T>(props: { of: Polled<T>; what: string; children: (data: T) => ComponentChildren }) {
  const { data, error } = props.of;
  if (data !== undefined && data !== null) return <>{props.children(data)}</>;
  if (error) return <Problem message={error.message} />;
  return <Loading what={props.what} />;
}

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages that do not come over TLS or from this machine have no clipboard of their own.
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  return undefined;
}

/** `text` may be made when it is wanted. */
export function Copy(props: { text: string | (() => string); what: string }) {
  const [done, setDone] = useState(false);
  return (
    <button type="button" class="small" aria-label={`Copy ${props.what}`}
      onClick={() => { void copyText(typeof props.text === 'string' ? props.text : props.text()).then(() => { setDone(true); setTimeout(() => setDone(false), 1500); }); }}>
      {done ? 'Copied' : 'Copy'}
    </button>
  );
}

export function Command(props: { text: string }) {
  return (
    <div class="command">
      <pre tabIndex={0}><code>{props.text}</code></pre>
      <Copy text={props.text} what="the command" />
    </div>
  );
}

export function Field(props: { label: string; hint?: ComponentChildren; children: (id: string) => ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.children(id)}
      {props.hint && <span class="hint">{props.hint}</span>}
    </div>
  );
}

export function TextField(props: {
  label: string; value: string; onInput: (value: string) => void; hint?: ComponentChildren; placeholder?: string;
  type?: 'text' | 'password' | 'datetime-local'; autofocus?: boolean; filter?: boolean; required?: boolean;
}) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id) => (
        <input id={id} {...({ type: props.type ?? 'text' } as { type: 'text' })} value={props.value} placeholder={props.placeholder} 
          required={props.required} data-filter={props.filter ? '' : undefined} autocomplete="off" spellcheck={false}
          ref={(element) => { if (props.autofocus && element && !element.dataset.seen) { element.dataset.seen = '1'; element.focus(); } }}
          onInput={(event) => props.onInput(event.currentTarget.value)} />
      )}
    </Field>
  );
}

export function Choice(props: { label: string; value: string; options: [value: string, text: string][]; onChange: (value: string) => void; hint?: string }) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id) => (
        <select id={id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
          {props.options.map(([value, text]) => <option key={value} value={value} selected={value === props.value}>{text}</option>)}
        </select>
      )}
    </Field>
  );
}

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const element = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    if (!element.current?.open) element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} class={props.wide ? 'wide' : ''} aria-labelledby={title} onClose={props.onClose}
      onClick={(event) => { if (event.target === element.current) element.current?.close(); }}>
      <div class="dialog-body">
        <header>
          <h2 id={title}>{props.title}</h2>
          <button type="button" class="small" aria-label="Close" onClick={() => element.current?.close()}>✕</button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

export function Tabs(props: { label: string; value: string; tabs: [value: string, text: string][]; onChange: (value: string) => void }) {
  return (
    <nav class="tabs" aria-label={props.label}>
      {props.tabs.map(([value, text]) => (
        <button key={value} type="button" aria-current={value === props.value ? 'page' : undefined} onClick={() => props.onChange(value)}>{text}</button>
      ))}
    </nav>
  );
}

export function Facts(props: { rows: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {props.rows.map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  );
}

/** A share of something as a bar, with its number beside. */
export function Meter(props: { label: string; value: number; max: number; text: string; tone?: Tone; title?: string }) {
  const share = props.max > 0 ? Math.min(1, props.value / props.max) : 0;
  return (
    <div class="meter" title={props.title}>
      <span>{props.label}</span>
      <span class="meter-bar" aria-hidden="true"><span class={props.tone ?? 'accent'} style={{ width: `${share * 100}%` }} /></span>
      <span class="number">{props.text}</span>
    </div>
  );
}
