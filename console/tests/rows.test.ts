import { describe, expect, test } from "vitest";
import type { Summary } from "../src/api/types.ts";
import { NO_ROWS, withNewest, withPage, withRow, withSkipped, withWaiting } from "../src/pages/responses/rows.ts";

function row(id: string, started_ms: number, status = "completed"): Summary {
  return { id, started_ms, status } as Summary;
}

const PAGE = withPage(NO_ROWS, { data: [row("c", 30), row("b", 20)], has_more: true, last_id: "b" });

describe("the rows of the list", () => {
  test("those that run are on top, then the newest", () => {
    const rows = withRow(withRow(PAGE, row("d", 40)), row("a", 25, "in_progress"));
    expect(rows.visible.map(({ id }) => id)).toEqual(["a", "d", "c", "b"]);
  });

  test("a changed row changes in place, also while new ones are held", () => {
    const rows = withWaiting(PAGE, row("b", 20, "failed"));
    expect(rows.visible.map(({ status }) => status)).toEqual(["completed", "failed"]);
  });

  test("held rows are counted once, and shown when the newest page is read again", () => {
    const rows = withWaiting(withWaiting(PAGE, row("d", 40)), row("d", 40, "failed"));
    expect([...rows.waiting.ids]).toEqual(["d"]);
    const after = withNewest(rows, { data: [row("d", 40), row("c", 30)], has_more: true, last_id: "c" });
    expect(after.visible.map(({ id }) => id)).toEqual(["d", "c", "b"]);
    expect(after.waiting.ids.size).toBe(0);
  });

  test("of very many held rows a bounded number of IDs is kept", () => {
    let rows = PAGE;
    for (let at = 0; at < 1_500; at += 1) rows = withWaiting(rows, row(`r${at}`, 100 + at));
    expect(rows.waiting.ids.size).toBe(1_000);
    expect(rows.waiting.hasMore).toBe(true);
  });

  test("what the stream skipped is no number of new rows", () => {
    expect(withSkipped(PAGE).waiting).toEqual({ ids: new Set(), hasMore: true });
  });

  test("a newest page that does not reach the rows takes their place, so that none is missing between them", () => {
    const rows = withNewest(PAGE, { data: [row("z", 90), row("y", 80)], has_more: true, last_id: "y" });
    expect(rows.visible.map(({ id }) => id)).toEqual(["z", "y"]);
    expect(rows.next).toBe("y");
  });

  test("a row that has ended does not run again", () => {
    expect(withRow(PAGE, row("b", 20, "in_progress")).visible.at(-1)).toMatchObject({ status: "completed" });
  });

  test("a row that a later page has is left to it", () => {
    expect(withRow(PAGE, row("a", 10)).visible).toHaveLength(2);
  });

  test("a page that repeats a row adds it once", () => {
    expect(withPage(PAGE, { data: [row("b", 20), row("a", 10)], has_more: false }).visible).toHaveLength(3);
  });

  test("responses that run beside the page are on top, once", () => {
    const running = [row("d", 10, "in_progress"), row("c", 30)];
    const rows = withPage(NO_ROWS, { data: [row("c", 30)], running, has_more: false });
    expect(rows.visible.map(({ id }) => id)).toEqual(["d", "c"]);
  });

  test("of very many rows the oldest are left to later pages", () => {
    let rows = NO_ROWS;
    for (let at = 1; at <= 1_005; at += 1) rows = withRow(rows, row(`r${at}`, at));
    expect(rows.visible).toHaveLength(1_000);
    expect(rows.next).toBe("r6");
  });

  test("a partial page says where the search goes on", () => {
    const rows = withPage(NO_ROWS, { data: [], has_more: true, partial: true, after: "resp_9" });
    expect(rows).toMatchObject({ isPartial: true, next: "resp_9" });
  });
});
