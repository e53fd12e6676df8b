/** Events of a response as a list. */
import type { Json } from "../api/types.ts";
import { visible } from "./raw.tsx";
import "./events.css";

/** Return what an event says besides its type, in a few words. */
export function detailOf(event: Json): string {
  const item = event.item as Json | undefined;
  return String(event.delta ?? item?.type ?? (event.part as Json | undefined)?.type ?? "").slice(0, 200);
}

/** Events as a list: number, type and detail. */
export function EventList({ events }: { events: readonly Json[] }) {
  return (
    <ol class="events">
      {events.map((event) => (
        <li key={String(event.sequence_number)}>
          <span class="muted">{String(event.sequence_number ?? "")}</span>
          <span>{String(event.type).replace(/^response\./, "")}</span>
          <span class="detail">{visible(detailOf(event))}</span>
        </li>
      ))}
    </ol>
  );
}
