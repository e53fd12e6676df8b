/** One reader of a list: reads its pages, follows its stream, and reconnects until it is ended. */
import type { Signal } from "@preact/signals";
import { ApiError } from "../../api/client.ts";
import { listResponses } from "../../api/responses.ts";
import type { List, Summary } from "../../api/types.ts";
import { plural } from "../../parts/format.ts";
import { announce } from "../../parts/live.tsx";
import { isByTime } from "./order.ts";
import {
  AS_LISTED,
  NEWEST_FIRST,
  NO_ROWS,
  type Order,
  type Rows,
  withNewest,
  withPage,
  withRow,
  withSkipped,
  withWaiting,
} from "./rows.ts";
import { sharedResponses } from "./shared.ts";

const RETRY = 2_000; // ms
const PATIENCE = 1_000; // ms for the first event of the stream; then the list is read without it
const BATCH = 200; // ms between changes of the list
const PAUSED_BATCH = 1_000; // ms, while it is paused: only a number changes
const GAP = 2_000; // ms until what the stream skipped is read
const SCROLLED = 160; // px from the top, from where new rows would move the page under the reader's hand
const TEMPORARY = new Set([408, 425, 429]);

/** What the list does: reads its first page, follows the stream, waits to try again, or nothing after a rejection. */
export type ListState = "loading" | "live" | "offline" | "rejected";

/** What the page shows of the list, and what it asks of it. */
export interface Displayed {
  rows: Signal<Rows>;
  state: Signal<ListState>;
  error: Signal<unknown>;
  isPaused: Signal<boolean>;
}

/** Reads the responses that match a filter line. */
export class Follower {
  private readonly line: string;
  private readonly displayed: Displayed;
  private readonly isLive: boolean; // whether new rows have a known place
  private readonly order: Order;
  private readonly control = new AbortController();
  private batch: Summary[] = [];
  private readonly later = new Map<string, Summary>(); // changes of visible rows, while the list is paused
  private flushing: ReturnType<typeof setTimeout> | undefined;
  private filling: ReturnType<typeof setTimeout> | undefined;

  constructor(line: string, displayed: Displayed) {
    this.line = line;
    this.displayed = displayed;
    this.isLive = isByTime(line);
    this.order = this.isLive ? NEWEST_FIRST : AS_LISTED;
  }

  /** Read and follow until `end`, or until the server rejects the filters. */
  async follow(): Promise<void> {
    const { signal } = this.control;
    const { state, error } = this.displayed;
    while (!signal.aborted) {
      try {
        await this.stream();
      } catch (reason) {
        if (signal.aborted) return;
        error.value = reason;
        if (isFinal(reason)) {
          state.value = "rejected";
          return;
        }
        if (this.displayed.rows.value.visible.length === 0) await this.refresh().catch(() => {}); // without a stream
      }
      if (signal.aborted) return;
      state.value = "offline";
      await new Promise((resolve) => setTimeout(resolve, RETRY));
    }
  }

  /** Stop. */
  end(): void {
    this.control.abort();
    clearTimeout(this.flushing);
    clearTimeout(this.filling);
  }

  /** Read the next page. */
  async loadMore(): Promise<void> {
    const { rows, error } = this.displayed;
    try {
      const page = await this.page(rows.value.next);
      rows.value = withPage(rows.value, page, this.order);
      error.value = undefined;
    } catch (reason) {
      if (!this.control.signal.aborted) error.value = reason;
    }
  }

  /** Show what waits. */
  async release(): Promise<void> {
    const { rows } = this.displayed;
    this.flush();
    rows.value = [...this.later.values()].reduce((all, row) => withRow(all, row, this.order), rows.value);
    this.later.clear();
    const { ids, hasMore } = rows.value.waiting;
    if (ids.size === 0 && !hasMore) return;
    await this.refresh(true).catch(() => {}); // without a connection, the next one reads it
  }

  /** The list is read once the stream reports changes, so that none is missed between the two. */
  private async stream(): Promise<void> {
    const { state } = this.displayed;
    const early = setTimeout(() => this.refresh().catch(() => {}), PATIENCE);
    try {
      for await (const event of sharedResponses(this.line, this.control.signal)) {
        if (state.value !== "live" || "missed" in event) {
          clearTimeout(early);
          await this.refresh();
          state.value = "live";
        }
        if ("row" in event) this.take(event.row);
        else if ("skipped" in event) this.skip();
      }
    } finally {
      clearTimeout(early);
    }
  }

  private page(after?: string): Promise<List<Summary>> {
    return listResponses(this.line, after, this.control.signal);
  }

  /** Read the first page again; new rows wait if the list must not move, unless `isWanted`. */
  private async refresh(isWanted = false): Promise<void> {
    const { rows, error } = this.displayed;
    const page = await this.page();
    error.value = undefined;
    if (rows.value.visible.length > 0 && this.isWithheld() && !isWanted) {
      for (const row of [...(page.running ?? []), ...page.data]) this.hold(row);
    } else if (this.isLive) rows.value = withNewest(rows.value, page);
    else rows.value = withPage(NO_ROWS, page, AS_LISTED);
  }

  private isWithheld(): boolean {
    return !this.isLive || this.displayed.isPaused.value || scrollY > SCROLLED;
  }

  private take(row: Summary): void {
    this.batch.push(row);
    this.flushing ??= setTimeout(() => this.flush(), this.displayed.isPaused.value ? PAUSED_BATCH : BATCH);
  }

  private flush(): void {
    clearTimeout(this.flushing);
    this.flushing = undefined;
    const { rows } = this.displayed;
    const before = rows.value.waiting.ids.size;
    const isWithheld = this.isWithheld();
    for (const row of this.batch.splice(0)) {
      if (isWithheld) this.hold(row);
      else rows.value = withRow(rows.value, row, this.order);
    }
    const { size } = rows.value.waiting.ids;
    if (size > before) announce(`${plural(size, "new response")}.`);
  }

  private hold(row: Summary): void {
    const { rows, isPaused } = this.displayed;
    const isVisible = rows.value.visible.some(({ id }) => id === row.id);
    if (isVisible && isPaused.value) this.later.set(row.id, row);
    else rows.value = withWaiting(rows.value, row, this.order);
  }

  /** The stream skipped rows: read them, or say that there may be more if the list must not move. */
  private skip(): void {
    const { rows } = this.displayed;
    if (this.isWithheld()) rows.value = withSkipped(rows.value);
    else {
      this.filling ??= setTimeout(() => {
        this.filling = undefined;
        this.refresh().catch(() => {});
      }, GAP);
    }
  }
}

/** Whether to try again is useless. */
function isFinal(reason: unknown): boolean {
  if (!(reason instanceof ApiError)) return false;
  return reason.status >= 400 && reason.status < 500 && !TEMPORARY.has(reason.status);
}
