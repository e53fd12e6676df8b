/** The time of the server, so that a wrong clock of the reader changes neither what is displayed nor what is requested. */

const LEAST = 5_000; // ms; replies say whole seconds, and take some time to arrive

let ahead = 0; // ms that the server's clock is ahead of the reader's

/** Take the time of a reply, from its header `date`. */
export function noteTime(date: string | null): void {
  const found = Date.parse(date ?? "") - Date.now();
  if (Number.isFinite(found)) ahead = Math.abs(found) < LEAST ? 0 : found;
}

/** Return the server's time, in milliseconds since the epoch. */
export function serverNow(): number {
  return Date.now() + ahead;
}
