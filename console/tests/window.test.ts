import { describe, expect, test } from "vitest";
import { RANGES, type Range, windowOf } from "../src/pages/responses/window.ts";

const NOW = 1_795_449_601.5;

describe("the time of the figures", () => {
  test.each(Object.keys(RANGES) as Range[])("of %s has steps and ends of whole minutes", (range) => {
    const { since, until, step } = windowOf("", range, NOW);
    expect([since % 60, until % 60, step % 60]).toEqual([0, 0, 0]);
    expect(until).toBeGreaterThanOrEqual(NOW);
    expect((until - since) / step).toBeLessThanOrEqual(100);
  });

  test("that a filter names is widened to whole minutes", () => {
    const found = windowOf("since:2026-11-22T12:00:30Z until:2026-11-22T12:02:10Z", "90m", NOW);
    expect(found).toEqual({ since: 1_795_348_800, until: 1_795_348_980, step: 60 });
  });
});
