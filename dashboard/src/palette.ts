// The colours of style.css for what is drawn on a canvas, which does not know their names.

export function colour(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** The same, mostly transparent. */
export function faint(value: string): string {
  return value.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.13)');
}
