/** The rows of the list as live updates change them. */
import type { List, Summary } from "../../api/types.ts";
import { isRunning } from "../../parts/status.tsx";

/** The rows that are shown, new ones that wait, and where the next page begins. */
export interface Rows {
  visible: readonly Summary[];
  waiting: Waiting;
  next: string | undefined;
  isPartial: boolean;
}

/** New responses that are not shown: the IDs of at most 1,000 of them, and whether there may be others. */
export interface Waiting {
  ids: ReadonlySet<string>;
  hasMore: boolean;
}

const MOST_ROWS = 1_000;
const MOST_WAITING = 1_000;
const NONE: Waiting = { ids: new Set(), hasMore: false };

/** No rows. */
export const NO_ROWS: Rows = { visible: [], waiting: NONE, next: undefined, isPartial: false };

/** Compares rows in the order of the list: those that run first, then the newest. */
export type Order = (a: Summary, b: Summary) => number;

/** The usual order. */
export const NEWEST_FIRST: Order = (a, b) => Number(isRunning(b)) - Number(isRunning(a)) || b.started_ms - a.started_ms;

/** The order in which the server lists rows, as far as the page knows it. */
export const AS_LISTED: Order = () => 0;

/** Add a page behind the rows. */
export function withPage(rows: Rows, page: List<Summary>, order: Order = NEWEST_FIRST): Rows {
  const known = new Set(rows.visible.map(({ id }) => id));
  const visible = [...rows.visible, ...rowsOf(page).filter(({ id }) => !known.has(id))].sort(order);
  return { ...rows, visible, ...endOf(page) };
}

/** Take the newest page again: what it has is added or changed, and nothing waits any longer. */
export function withNewest(rows: Rows, page: List<Summary>): Rows {
  const found = rowsOf(page);
  const oldest = found.at(-1);
  const hasGap = page.has_more && oldest !== undefined && !has(rows, oldest);
  if (rows.visible.length === 0 || hasGap) return withPage(NO_ROWS, page);
  return found.reduce((before, row) => withRow(before, row), { ...rows, waiting: NONE });
}

/** Take a new or changed row: a known one changes in place, a new one is shown. */
export function withRow(rows: Rows, row: Summary, order: Order = NEWEST_FIRST): Rows {
  if (has(rows, row)) return { ...rows, visible: replaced(rows.visible, row).sort(order) };
  if (isBehind(rows, row)) return rows;
  return capped({ ...rows, visible: [row, ...rows.visible].sort(order) });
}

/** Hold a new row back: it is counted, and not kept. A known one changes in place. */
export function withWaiting(rows: Rows, row: Summary, order: Order = NEWEST_FIRST): Rows {
  if (has(rows, row)) return withRow(rows, row, order);
  if (isBehind(rows, row) || rows.waiting.ids.has(row.id)) return rows;
  const { ids } = rows.waiting;
  if (ids.size >= MOST_WAITING) return withSkipped(rows);
  return { ...rows, waiting: { ...rows.waiting, ids: new Set(ids).add(row.id) } };
}

/** Note that there may be new rows that the page does not know. */
export function withSkipped(rows: Rows): Rows {
  return rows.waiting.hasMore ? rows : { ...rows, waiting: { ...rows.waiting, hasMore: true } };
}

function rowsOf({ running = [], data }: List<Summary>): Summary[] {
  const listed = new Set(data.map(({ id }) => id));
  return [...running.filter(({ id }) => !listed.has(id)), ...data];
}

function endOf(page: List<Summary>): Pick<Rows, "next" | "isPartial"> {
  const next = page.has_more ? (page.after ?? page.last_id ?? undefined) : undefined;
  return { next, isPartial: page.partial ?? false };
}

function has(rows: Rows, row: Summary): boolean {
  return rows.visible.some(({ id }) => id === row.id);
}

/** Whether a later page has the row. */
function isBehind({ next, visible }: Rows, row: Summary): boolean {
  const oldest = visible.at(-1);
  return next !== undefined && oldest !== undefined && row.started_ms < oldest.started_ms;
}

/** Leave the oldest rows to later pages, so that a list that is open for days stays quick. */
function capped(rows: Rows): Rows {
  if (rows.visible.length <= MOST_ROWS) return rows;
  const visible = rows.visible.slice(0, MOST_ROWS);
  return { ...rows, visible, next: visible.at(-1)?.id };
}

/** A row that has ended does not run again: what says so was read earlier, and arrives later. */
function replaced(list: readonly Summary[], row: Summary): Summary[] {
  return list.map((each) => (each.id === row.id && !(isRunning(row) && !isRunning(each)) ? row : each));
}
