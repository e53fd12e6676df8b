/** The list with its live updates: loads pages, follows the stream, and reconnects. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError } from "../../api/client.ts";
import { listResponses } from "../../api/responses.ts";
import { plural } from "../../parts/format.ts";
import { announce } from "../../parts/live.tsx";
import { NO_ROWS, type Rows, released, withPage, withRow } from "./rows.ts";
import { sharedResponses } from "./shared.ts";

const RETRY = 2_000; // ms
const SCROLLED = 160; // px from the top, from where new rows would move the page under the reader's hand

/** The list as the page shows it. */
export interface LiveList {
  rows: Signal<Rows>;
  state: Signal<"loading" | "live" | "offline">;
  error: Signal<unknown>;
  loadMore: () => Promise<void>;
  release: () => void;
}

/** Follow the responses that match a filter line; while `isPaused`, nothing that is shown moves. */
export function useLiveList(q: string, isPaused: Signal<boolean>): LiveList {
  const rows = useSignal<Rows>(NO_ROWS);
  const state = useSignal<"loading" | "live" | "offline">("loading");
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    const control = new AbortController();
    const { signal } = control;
    rows.value = NO_ROWS;
    state.value = "loading";
    error.value = undefined;
    const first = listResponses(q, undefined, signal).then((page) => {
      rows.value = withPage(rows.value, page);
    });
    first.then(
      () => follow(q, signal, rows, state, isPaused),
      (reason) => {
        if (!signal.aborted) error.value = reason;
      },
    );
    return () => control.abort();
  }, [q, rows, state, error, isPaused]);
  const loadMore = async () => {
    try {
      rows.value = withPage(rows.value, await listResponses(q, rows.value.next, new AbortController().signal));
    } catch (reason) {
      error.value = reason;
    }
  };
  const release = () => {
    const hasGaps = rows.value.skipped > 0;
    rows.value = released(rows.value);
    if (hasGaps) void fill(q, rows).catch(() => {});
  };
  return { rows, state, error, loadMore, release };
}

async function follow(
  q: string,
  signal: AbortSignal,
  rows: Signal<Rows>,
  state: Signal<string>,
  isPaused: Signal<boolean>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of sharedResponses(q, signal)) {
        state.value = "live";
        if ("missed" in event) await catchUp(q, signal, rows, isPaused).catch(() => {});
        if ("row" in event) take(event.row, rows, isPaused);
        else if ("skipped" in event) rows.value = { ...rows.value, skipped: rows.value.skipped + event.skipped };
      }
    } catch (reason) {
      if (reason instanceof ApiError && reason.status >= 400 && reason.status < 500) return;
    }
    if (signal.aborted) return;
    state.value = "offline";
    await new Promise((resolve) => setTimeout(resolve, RETRY));
    await catchUp(q, signal, rows, isPaused).catch(() => {});
  }
}

/** Take the rows that the stream skipped. */
async function fill(q: string, rows: Signal<Rows>): Promise<void> {
  const page = await listResponses(q, undefined, new AbortController().signal);
  rows.value = page.data.reduce((all, row) => withRow(all, row, false), rows.value);
}

/** Take what was missed while the stream was interrupted. */
async function catchUp(q: string, signal: AbortSignal, rows: Signal<Rows>, isPaused: Signal<boolean>): Promise<void> {
  const page = await listResponses(q, undefined, signal);
  for (const row of page.data.reverse()) take(row, rows, isPaused);
}

function take(row: Parameters<typeof withRow>[1], rows: Signal<Rows>, isPaused: Signal<boolean>): void {
  const before = rows.value.waiting.length;
  rows.value = withRow(rows.value, row, isPaused.value || scrollY > SCROLLED);
  if (rows.value.waiting.length > before) announce(`${plural(rows.value.waiting.length, "new response")}.`);
}
