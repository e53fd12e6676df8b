/** Paths of pages that other pages lead to. */

import { query } from "./router.tsx";

/** Return the path of the list of responses, with the filters of the address that is shown. */
export function listPath(): string {
  const q = query.value.get("q");
  return q ? `?${new URLSearchParams({ q })}` : "";
}

/** Return the path of a response, with the filters of the list that is shown: the next one is found by them. */
export function responsePath(id: string): string {
  return `r/${id}${listPath()}`;
}

/** Return the path of the page that compares two responses; of an empty ID the page asks. */
export function comparePath(a: string, b: string): string {
  return `compare?${new URLSearchParams({ a, b })}`;
}
