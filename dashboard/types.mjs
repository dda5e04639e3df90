// Writes src/generated/api.ts from docs/openapi.json: a type for every schema and every reply, and the list of
// operations with method, path and role. Nothing about the API is typed by hand.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const quoted = (text) => JSON.stringify(text);
const nameOf = (reference) => reference.split('/').pop();

function literal(value) {
  return JSON.stringify(value);
}

function objectType(schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => `${quoted(name)}${required.has(name) ? '' : '?'}: ${typeOf(field)}`,
  );
  const rest = schema.additionalProperties;
  if (fields.length === 0) {
    return rest && typeof rest === 'object' ? `Record<string, ${typeOf(rest)}>` : 'Record<string, unknown>';
  }
  return `{ ${fields.join('; ')} }`;
}

function typeOf(schema) {
  if (schema === true || schema === undefined) return 'unknown';
  if (schema.$ref) return nameOf(schema.$ref);
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map((one) => `(${typeOf(one)})`).join(' | ');
  if (schema.allOf) return schema.allOf.map((one) => `(${typeOf(one)})`).join(' & ');
  const names = Array.isArray(schema.type) ? schema.type : [schema.type];
  return names
    .map((name) => {
      if (name === 'array') return `(${typeOf(schema.items)})[]`;
      if (name === 'object') return objectType(schema);
      if (name === 'integer' || name === 'number') return 'number';
      if (name === 'string' || name === 'boolean' || name === 'null') return name;
      return schema.properties ? objectType(schema) : 'unknown';
    })
    .join(' | ');
}

function successOf(operation) {
  for (const [status, reply] of Object.entries(operation.responses)) {
    const media = reply.content?.['application/json'];
    if (status.startsWith('2') && media) return typeOf(media.schema);
  }
  return 'null';
}

export function generateTypes(source, target) {
  const document = JSON.parse(readFileSync(source, 'utf8'));
  const types = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)};`,
  );
  const rows = [];
  const replies = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!operation.responses || !path.match(/^\/(api|streams|health|metrics$)/)) continue;
      rows.push(`  ${operation.operationId}: [${quoted(method.toUpperCase())}, ${quoted(path)}, ${quoted(operation['x-queen-role'])}],`);
      replies.push(`  ${operation.operationId}: ${successOf(operation)};`);
    }
  }
  mkdirSync(new URL('.', `file://${target}`).pathname, { recursive: true });
  writeFileSync(
    target,
    `// Written by dashboard/types.mjs from docs/openapi.json.\n${types.join('\n')}\n\n` +
      `export interface Replies {\n${replies.join('\n')}\n}\n\n` +
      `export const operations = {\n${rows.join('\n')}\n} as const;\n`,
  );
}
