// JSON that can be folded and copied.
import { useState } from 'preact/hooks';
import { Copy } from './basics';
import { readJson, writeJson, type JsonNode } from './json_text';

// Beyond this depth things begin folded, and so do lists that are longer.
const kDepthOpen = 3;
const kItemsOpen = 50;

function Node(props: { node: JsonNode; name?: string; depth: number }) {
  const { node, depth } = props;
  const name = props.name === undefined ? null : <span class="json-key">{props.name}: </span>;
  if (node.kind === 'leaf') return <li>{name}<span class={`json-${node.type}`}>{node.text}</span></li>;
  const children = node.kind === 'array' ? node.items.map((item, i) => [String(i), item] as const) : node.fields;
  const [open, close] = node.kind === 'array' ? ['[', ']'] : ['{', '}'];
  const [opened, setOpened] = useState(depth < kDepthOpen && children.length <= kItemsOpen);
  if (children.length === 0) return <li>{name}{open}{close}</li>;
  return (
    <li>
      <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
        <summary>{name}{open}{opened ? '' : ` ${children.length} … ${close}`}</summary>
        {opened && <ul>{children.map(([key, child], i) => <Node key={i} name={node.kind === 'array' ? undefined : key} node={child} depth={depth + 1} />)}</ul>}
        {opened && <span>{close}</span>}
      </details>
    </li>
  );
}

export function JsonView(props: { node: JsonNode; what: string }) {
  return (
    <div class="json" tabIndex={0} role="region" aria-label={props.what}>
      <Copy text={writeJson(props.node)} what={props.what} />
      <ul><Node node={props.node} depth={0} /></ul>
    </div>
  );
}

export function JsonOf(props: { value: unknown; what: string }) {
  return <JsonView node={readJson(JSON.stringify(props.value ?? null))} what={props.what} />;
}
