// Where the reader is: everything after `#`, so that a link can be shared. `#/queues?q=orders&range=6h` is the page
// "queues" with its parameters; names in the path are percent-encoded. `range` is kept from page to page.
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  page: string;
  names: string[];
  params: URLSearchParams;
  /** The address that it was read from, as it stands behind `#`. */
  hash: string;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [page = '', ...names] = path.split('/').map(decoded);
  return { page: page || 'overview', names, params: new URLSearchParams(query), hash: location.hash };
}

export function href(page: string, names: string[] = [], params: Record<string, string> = {}): string {
  const query = new URLSearchParams(params);
  const range = readRoute().params.get('range');
  if (range && !query.has('range')) query.set('range', range);
  const path = [page, ...names.map(encodeURIComponent)].join('/');
  const text = query.toString();
  return `#/${path}${text ? `?${text}` : ''}`;
}

export function go(page: string, names: string[] = [], params: Record<string, string> = {}): void {
  location.hash = href(page, names, params);
}

/** Changes parameters of this page without a new entry in the history; "" takes one out. */
export function setParams(changes: Record<string, string>): void {
  const route = readRoute();
  for (const [name, value] of Object.entries(changes)) {
    if (value) route.params.set(name, value);
    else route.params.delete(name);
  }
  const query = route.params.toString();
  const path = [route.page, ...route.names.map(encodeURIComponent)].join('/');
  history.replaceState(null, '', `#/${path}${query ? `?${query}` : ''}`);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const changed = () => setRoute(readRoute());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}

export function useParam(name: string, fallback = ''): [string, (value: string) => void] {
  const value = useRoute().params.get(name) ?? fallback;
  return [value, (next: string) => setParams({ [name]: next === fallback ? '' : next })];
}
