/** The stored events of a response, 500 at a time. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { storedEvents } from "../../api/responses.ts";
import type { Json } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { EventList } from "../../parts/events.tsx";

/** The events with their numbers; the rest is loaded when the reader wants it. */
export function StoredEvents({ id }: { id: string }) {
  const events = useSignal<Json[]>([]);
  const hasMore = useSignal(true);
  const error = useSignal<unknown>(undefined);
  const load = async () => {
    try {
      const after = Number(events.value.at(-1)?.sequence_number ?? -1);
      const page = await storedEvents(id, after);
      events.value = [...events.value, ...page.data];
      hasMore.value = page.has_more;
    } catch (reason) {
      error.value = reason;
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first page is loaded once.
  useEffect(() => void load(), [id]);
  return (
    <>
      <EventList events={events.value} />
      {error.value !== undefined && <ErrorNotice error={error.value} onRetry={load} />}
      {hasMore.value && events.value.length > 0 && (
        <div class="more-rows">
          <button type="button" class="btn" onClick={load}>
            Load more
          </button>
        </div>
      )}
    </>
  );
}
