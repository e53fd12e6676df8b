/** What stands below a list: its error, that it is empty, or the button for more. */
import type { ComponentChildren } from "preact";
import { ErrorNotice } from "./errors.tsx";
import type { Paged } from "./paged.ts";
import "./more.css";

/** The end of a paged list; `children` stand in place of an empty one. */
export function ListEnd({ list, children }: { list: Paged<unknown>; children: ComponentChildren }) {
  if (list.error !== undefined) return <ErrorNotice error={list.error} onRetry={list.reload} />;
  if (list.isLoading) return <p class="loading muted pad">Loading…</p>;
  if (list.items.length === 0) return <div class="empty">{children}</div>;
  if (!list.hasMore) return null;
  return (
    <div class="more-rows">
      <button type="button" class="btn" onClick={list.loadMore}>
        Load more
      </button>
    </div>
  );
}
