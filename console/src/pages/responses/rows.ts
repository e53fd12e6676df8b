/** The rows of the list as live updates change them. */
import type { List, Summary } from "../../api/types.ts";
import { isRunning } from "../../parts/status.tsx";

/** The rows that are shown, new ones that wait, and where the next page begins. */
export interface Rows {
  visible: readonly Summary[];
  waiting: readonly Summary[];
  skipped: number;
  next: string | undefined;
  isPartial: boolean;
}

const MOST_ROWS = 1_000;

/** No rows. */
export const NO_ROWS: Rows = { visible: [], waiting: [], skipped: 0, next: undefined, isPartial: false };

/** Add a page behind the rows. */
export function withPage(rows: Rows, page: List<Summary>): Rows {
  const known = new Set(rows.visible.map(({ id }) => id));
  const listed = new Set(page.data.map(({ id }) => id));
  const added = [...(page.running ?? []).filter(({ id }) => !listed.has(id)), ...page.data];
  const visible = sorted([...rows.visible, ...added.filter(({ id }) => !known.has(id))]);
  const next = page.has_more ? (page.after ?? page.last_id ?? undefined) : undefined;
  return { ...rows, visible, next, isPartial: page.partial ?? false };
}

/** Take a new or changed row: a known one changes in place, a new one is shown, or held where `isWaiting`. */
export function withRow(rows: Rows, row: Summary, isWaiting: boolean): Rows {
  if (rows.visible.some(({ id }) => id === row.id)) return { ...rows, visible: sorted(replaced(rows.visible, row)) };
  if (rows.waiting.some(({ id }) => id === row.id)) return { ...rows, waiting: replaced(rows.waiting, row) };
  const oldest = rows.visible.at(-1);
  const isBehind = rows.next !== undefined && oldest !== undefined && row.started_ms < oldest.started_ms;
  if (isBehind) return rows; // a later page has it
  if (isWaiting) return { ...rows, waiting: [...rows.waiting, row] };
  return capped({ ...rows, visible: sorted([row, ...rows.visible]) });
}

/** Show the rows that were held. */
export function released(rows: Rows): Rows {
  return { ...rows, visible: sorted([...rows.waiting, ...rows.visible]), waiting: [], skipped: 0 };
}

/** Leave the oldest rows to later pages, so that a list that is open for days stays quick. */
function capped(rows: Rows): Rows {
  if (rows.visible.length <= MOST_ROWS) return rows;
  const visible = rows.visible.slice(0, MOST_ROWS);
  return { ...rows, visible, next: visible.at(-1)?.id };
}

function replaced(list: readonly Summary[], row: Summary): Summary[] {
  return list.map((each) => (each.id === row.id ? row : each));
}

/** Those that run first, then the newest. */
function sorted(list: Summary[]): Summary[] {
  return list.sort((a, b) => Number(isRunning(b)) - Number(isRunning(a)) || b.started_ms - a.started_ms);
}
