import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { fixed, RANGES, secondsOf, typedTime, windowOf, withOffsets, withTime } from "../src/pages/responses/window.ts";
import { zone } from "../src/parts/preferences.ts";

const NOW = 1_795_449_601.5; // 2026-11-23T16:00:01Z

beforeAll(() => {
  process.env.TZ = "Europe/Berlin";
});

afterEach(() => {
  zone.value = "local";
});

describe("the time of the figures", () => {
  test.each(Object.keys(RANGES))("of %s has steps and ends of whole minutes", (range) => {
    const { since, until, step } = windowOf(`since:${range}`, NOW);
    expect([since % 60, until % 60, step % 60]).toEqual([0, 0, 0]);
    expect(until).toBeGreaterThanOrEqual(NOW);
    expect((until - since) / step).toBeLessThanOrEqual(101); // the first minute is a whole one
  });

  test("is the last 90 minutes if the line names none", () => {
    expect(windowOf("status:failed", 6000)).toEqual({ since: 600, until: 6000, step: 60 });
  });

  test("that a filter names is widened to whole minutes", () => {
    const found = windowOf("since:2026-11-22T12:00:30Z until:2026-11-22T12:02:10Z", NOW);
    expect(found).toEqual({ since: 1_795_348_800, until: 1_795_348_980, step: 60 });
  });

  test("is what was brushed in the histogram, with the offset of the zone that is shown", () => {
    const line = withTime("status:failed", 1_800_000_000, 1_800_000_600);
    expect(line).toBe("status:failed since:2027-01-15T09:00:00+01:00 until:2027-01-15T09:10:00+01:00");
    expect(windowOf(line, 2_000_000_000)).toMatchObject({ since: 1_800_000_000, until: 1_800_000_600 });
    expect(withTime(line, 1_800_000_000, undefined)).toBe("status:failed since:2027-01-15T09:00:00+01:00");
  });
});

describe("a time of a filter", () => {
  test("without an offset is UTC in an address, as for the API", () => {
    expect(secondsOf("2026-11-22T12:00", NOW)).toBe(1_795_348_800);
    expect(secondsOf("2026-11-22", NOW)).toBe(1_795_305_600);
  });

  test("can say how long ago", () => {
    expect(secondsOf("2h", 10_000)).toBe(2_800);
    expect(secondsOf("soon", NOW)).toBeNaN();
  });

  test.each([
    ["2026-11-23T06:12", "2026-11-23T06:12:00+01:00"],
    ["2026-07-01T06:12:30", "2026-07-01T06:12:30+02:00"],
    ["2026-11-23", "2026-11-23T00:00:00+01:00"],
    ["06:12", "2026-11-23T06:12:00+01:00"],
    ["6:12:30", "2026-11-23T06:12:30+01:00"],
    ['"22 Nov, 06:12"', "2026-11-22T06:12:00+01:00"],
    ['"Nov 22, 06:12"', "2026-11-22T06:12:00+01:00"],
    ['"31 Dec, 06:12"', "2025-12-31T06:12:00+01:00"],
  ])("that a reader types as the page shows it gets the offset of the zone: %s", (typed, exact) => {
    expect(withOffsets(`since:${typed} tls`, NOW)).toBe(`since:${exact} tls`);
  });

  test("that a reader types is UTC while the page shows UTC", () => {
    zone.value = "UTC";
    expect(withOffsets("until:06:12", NOW)).toBe("until:2026-11-23T06:12:00Z");
  });

  test.each(["1h", "2026-11-23T06:12Z", "2026-11-23T06:12+05:30", "soon", "99:99"])("is left as it is: %s", (typed) => {
    expect(typedTime(typed, NOW)).toBeNaN();
    expect(withOffsets(`since:${typed}`, NOW)).toBe(`since:${typed}`);
  });
});

describe("a link", () => {
  test("has the time that is shown now, so that it shows the same later", () => {
    expect(fixed("since:1h tls", NOW)).toBe("since:2026-11-23T16:00:01+01:00 tls until:2026-11-23T17:00:02+01:00");
    expect(fixed("", NOW)).toBe("since:2026-11-23T15:31:00+01:00 until:2026-11-23T17:00:02+01:00");
  });

  test("keeps exact times", () => {
    const line = "since:2026-11-22T12:00:30Z until:2026-11-22T12:02:10Z";
    expect(windowOf(fixed(line, NOW), NOW)).toEqual(windowOf(line, NOW));
  });
});
