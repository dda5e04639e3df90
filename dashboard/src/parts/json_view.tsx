// JSON that can be folded and copied.
import { useState } from 'preact/hooks';
import { Copy } from './basics';
import { readJson, writeJson, type JsonNode } from './json_text';

// Beyond this depth things begin folded, and so do lists that are longer.
const kDepthOpen = 3;
const kItemsOpen = 50;
// So many more of a long list with each step.
const kItemsStep = 200;

type Branch = Exclude<JsonNode, { kind: 'leaf' }>;

function Node(props: { node: JsonNode; name?: string; depth: number }) {
  const { node, depth } = props;
  const name = props.name === undefined ? null : <span class="json-key">{props.name}: </span>;
  if (node.kind === 'leaf') return <li>{name}<span class={`json-${node.type}`}>{node.text}</span></li>;
  const empty = node.kind === 'array' ? node.items.length === 0 : node.fields.length === 0;
  if (empty) return <li>{name}{node.kind === 'array' ? '[]' : '{}'}</li>;
  return <li><Fold node={node} name={name} depth={depth} /></li>;
}

function Fold(props: { node: Branch; name: preact.ComponentChildren; depth: number }) {
  const { node, depth } = props;
  const children = node.kind === 'array' ? node.items.map((item) => [undefined, item] as const) : node.fields;
  const [open, close] = node.kind === 'array' ? ['[', ']'] : ['{', '}'];
  const [opened, setOpened] = useState(depth < kDepthOpen && children.length <= kItemsOpen);
  const [shown, setShown] = useState(kItemsStep);
  return (
    <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>{props.name}{open}{opened ? '' : ` ${children.length} … ${close}`}</summary>
      {opened && <ul>{children.slice(0, shown).map(([key, child], i) => <Node key={i} name={key} node={child} depth={depth + 1} />)}</ul>}
      {opened && children.length > shown && <button type="button" class="small" onClick={() => setShown(shown + kItemsStep)}>{children.length - shown} more…</button>}
      {opened && <span>{close}</span>}
    </details>
  );
}

export function JsonView(props: { node: JsonNode; what: string }) {
  return (
    <div class="json" tabIndex={0} role="region" aria-label={props.what}>
      <Copy text={() => writeJson(props.node)} what={props.what} />
      <ul><Node node={props.node} depth={0} /></ul>
    </div>
  );
}

export function JsonOf(props: { value: unknown; what: string }) {
  return <JsonView node={readJson(JSON.stringify(props.value ?? null))} what={props.what} />;
}
