// Reads JSON without changing it: numbers keep their digits, objects their order. JSON.parse would round 2^53 + 1.

export type JsonNode =
  | { kind: 'leaf'; text: string; type: 'string' | 'number' | 'word' }
  | { kind: 'array'; items: JsonNode[] }
  | { kind: 'object'; fields: [key: string, value: JsonNode][] };

const kToken = /\s*(?:([[\]{},:])|("[^"\\]*(?:\\.[^"\\]*)*")|(-?\d[\d.eE+-]*)|(true|false|null))/y;

export function readJson(text: string): JsonNode {
  let place = 0;
  function next(): { mark?: string; leaf?: JsonNode } {
    kToken.lastIndex = place;
    const found = kToken.exec(text);
    if (!found) throw new SyntaxError(`no JSON at ${place}`);
    place = kToken.lastIndex;
    if (found[1]) return { mark: found[1] };
    if (found[2]) return { leaf: { kind: 'leaf', text: found[2], type: 'string' } };
    if (found[3]) return { leaf: { kind: 'leaf', text: found[3], type: 'number' } };
    return { leaf: { kind: 'leaf', text: found[4] ?? '', type: 'word' } };
  }
  function ends(mark: string): boolean {
    const found = next().mark;
    if (found !== mark && found !== ',') throw new SyntaxError(`no comma at ${place}`);
    return found === mark;
  }
  function value(token = next()): JsonNode {
    if (token.leaf) return token.leaf;
    if (token.mark === '[') {
      const items: JsonNode[] = [];
      let following = next();
      if (following.mark === ']') return { kind: 'array', items };
      for (;;) {
        items.push(value(following));
        if (ends(']')) return { kind: 'array', items };
        following = next();
      }
    }
    if (token.mark !== '{') throw new SyntaxError(`no value at ${place}`);
    const fields: [string, JsonNode][] = [];
    let following = next();
    while (following.mark !== '}') {
      if (following.leaf?.kind !== 'leaf' || following.leaf.type !== 'string') throw new SyntaxError(`no key at ${place}`);
      const key = JSON.parse(following.leaf.text) as string;
      if (next().mark !== ':') throw new SyntaxError(`no colon at ${place}`);
      fields.push([key, value()]);
      if (ends('}')) break;
      following = next();
    }
    return { kind: 'object', fields };
  }
  return value();
}

export function field(node: JsonNode, name: string): JsonNode | undefined {
  return node.kind === 'object' ? node.fields.find(([key]) => key === name)?.[1] : undefined;
}

/** The text of a string, or of any other leaf as it stands there. */
export function textOf(node: JsonNode | undefined): string {
  if (node?.kind !== 'leaf') return '';
  return node.type === 'string' ? (JSON.parse(node.text) as string) : node.text;
}

export function writeJson(node: JsonNode, indent = ''): string {
  const inner = `${indent}  `;
  if (node.kind === 'leaf') return node.text;
  if (node.kind === 'array') {
    return node.items.length === 0 ? '[]' : `[\n${node.items.map((item) => inner + writeJson(item, inner)).join(',\n')}\n${indent}]`;
  }
  if (node.fields.length === 0) return '{}';
  return `{\n${node.fields.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${writeJson(item, inner)}`).join(',\n')}\n${indent}}`;
}
