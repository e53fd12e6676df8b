/** The events of a stream as rows: a few words of each, so that a long stream with large events stays small. */
import { type Signal, signal } from "@preact/signals";
import type { Json } from "../../api/types.ts";
import { detailOf } from "../../parts/events.tsx";

/** An event as the list shows it: its number and type, a detail, and the time since the request in ms. */
export interface EventRow {
  at: number;
  number: string;
  type: string;
  detail: string;
}

/** How many rows a log has at most. */
export const MOST_EVENTS = 10_000;
const SPARE = 1_000; // rows that are forgotten at once

/** A list that forgets its oldest events. */
export class EventLog {
  /** How many events came, with those that are forgotten. */
  readonly count: Signal<number> = signal(0);
  /** The rows that are left, oldest first. Read `count` to follow them. */
  readonly rows: EventRow[] = [];

  /** Add events, oldest first. */
  add(events: readonly { at: number; event: Json }[]): void {
    if (events.length === 0) return;
    for (const { at, event } of events) this.rows.push(rowOf(at, event));
    if (this.rows.length > MOST_EVENTS) this.rows.splice(0, this.rows.length - MOST_EVENTS + SPARE);
    this.count.value += events.length;
  }
}

function rowOf(at: number, event: Json): EventRow {
  const type = String(event.type).replace(/^response\./, "");
  return { at, number: String(event.sequence_number ?? ""), type, detail: detailOf(event) };
}
