// The broker's clock. Ages and ranges are told by it: the clock of this computer may be hours off.

// The header has whole seconds; a difference below this is no difference.
const kSameMs = 3_000;

let aheadMs = 0;

/** The header `Date` of a reply that has just come. */
export function heardDate(header: string | null): void {
  const time = Date.parse(header ?? '');
  if (Number.isNaN(time)) return;
  const ahead = time + 500 - Date.now();
  aheadMs = Math.abs(ahead) < kSameMs ? 0 : ahead;
}

/** Milliseconds since 1970, as the broker has them. */
export function brokerNow(): number {
  return Date.now() + aheadMs;
}
