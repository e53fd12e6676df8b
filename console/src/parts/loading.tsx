/** What a part of a page shows until its data has come. */
import "./loading.css";

/** Says that data is being loaded, until it or an error is there. */
export function Loading({ data, error, pad = false }: { data: unknown; error?: unknown; pad?: boolean }) {
  if (data || error !== undefined) return null;
  return <p class={pad ? "loading muted pad" : "loading muted"}>Loading…</p>;
}
