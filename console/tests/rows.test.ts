import { describe, expect, test } from "vitest";
import type { Summary } from "../src/api/types.ts";
import { NO_ROWS, released, withPage, withRow } from "../src/pages/responses/rows.ts";
import { windowOf, withTime } from "../src/pages/responses/window.ts";

function row(id: string, started_ms: number, status = "completed"): Summary {
  return { id, started_ms, status } as Summary;
}

const PAGE = withPage(NO_ROWS, { data: [row("c", 30), row("b", 20)], has_more: true, last_id: "b" });

describe("the rows of the list", () => {
  test("those that run are on top, then the newest", () => {
    const rows = withRow(withRow(PAGE, row("d", 40), false), row("a", 25, "in_progress"), false);
    expect(rows.visible.map(({ id }) => id)).toEqual(["a", "d", "c", "b"]);
  });

  test("a changed row changes in place, also while new ones are held", () => {
    const rows = withRow(PAGE, row("b", 20, "failed"), true);
    expect(rows.visible.map(({ status }) => status)).toEqual(["completed", "failed"]);
  });

  test("held rows are counted, and shown when released", () => {
    const rows = withRow(withRow(PAGE, row("d", 40), true), row("d", 40, "failed"), true);
    expect(rows.waiting).toHaveLength(1);
    expect(released(rows).visible[0]).toMatchObject({ id: "d", status: "failed" });
  });

  test("a row that a later page has is left to it", () => {
    expect(withRow(PAGE, row("a", 10), false).visible).toHaveLength(2);
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
    for (let at = 1; at <= 1_005; at += 1) rows = withRow(rows, row(`r${at}`, at), false);
    expect(rows.visible).toHaveLength(1_000);
    expect(rows.next).toBe("r6");
  });

  test("a partial page says where the search goes on", () => {
    const rows = withPage(NO_ROWS, { data: [], has_more: true, partial: true, after: "resp_9" });
    expect(rows).toMatchObject({ isPartial: true, next: "resp_9" });
  });
});

describe("the time of the figures", () => {
  test("is the range before now", () => {
    expect(windowOf("", "90m", 6000)).toEqual({ since: 600, until: 6000, step: 60 });
  });

  test("is what was brushed in the histogram", () => {
    const line = withTime("status:failed", 1_800_000_000, 1_800_000_600);
    expect(line).toBe("status:failed since:2027-01-15T08:00:00Z until:2027-01-15T08:10:00Z");
    expect(windowOf(line, "90m", 2_000_000_000)).toMatchObject({ since: 1_800_000_000, until: 1_800_000_600 });
  });

  test("has at most a hundred steps", () => {
    for (const range of ["15m", "90m", "24h", "7d", "30d"] as const) {
      const { since, until, step } = windowOf("", range, 1_800_000_000);
      expect((until - since) / step).toBeLessThanOrEqual(100);
    }
  });
});
