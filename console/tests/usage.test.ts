import { describe, expect, test } from "vitest";
import type { Figures, Sums } from "../src/api/types.ts";
import {
  amountOf,
  budgetsOf,
  cellsOf,
  chargedFrom,
  costOf,
  DAY,
  daysUntil,
  layersOf,
  nameOf,
  pathTo,
  rangeOf,
  timesOf,
} from "../src/pages/usage/data.ts";
import { viewOf } from "../src/pages/usage/view.ts";

const NOW = Date.UTC(2026, 10, 28, 23, 30);
const TODAY = Date.UTC(2026, 10, 28) / 1000;

const STREAMED = { streamed_tokens: 18, streamed_ms: 900 };

function sums(cost: number | null, more: Partial<Sums> = {}): Sums {
  const counts = { responses: 2, input_tokens: 30, cached_tokens: 10, output_tokens: 20, reasoning_tokens: 5 };
  return { ...counts, by_status: { failed: 1 }, cost, ...STREAMED, first_token_ms: null, duration_ms: null, ...more };
}

function filterOf(path: string): string {
  return new URLSearchParams(path).get("q") ?? "";
}

describe("a cost", () => {
  test("of nothing is not shown as free without prices", () => {
    expect(costOf(0, { currency: "USD", has_prices: false })).toBe("—");
    expect(costOf(null, { currency: "USD", has_prices: true })).toBe("$0.00");
  });

  test("that was counted while there were prices is still shown", () => {
    expect(costOf(1.5, { currency: "USD", has_prices: false })).toBe("$1.50");
  });
});

describe("days", () => {
  test("are whole days in UTC and end with today", () => {
    expect(daysUntil(NOW, 7)).toEqual({ since: TODAY - 6 * DAY, until: TODAY + DAY });
  });

  test("without responses are shown too", () => {
    expect(timesOf({ since: 0, until: 3 * DAY, step: DAY })).toEqual([0, DAY, 2 * DAY]);
  });
});

describe("a group", () => {
  test("without a name has its value, and without a value the name of what it lacks", () => {
    expect(nameOf("key", "key_1", "build")).toBe("build");
    expect(nameOf("key", "key_1", "")).toBe("key_1");
    expect(nameOf("key", "", null)).toBe("No key");
    expect(nameOf("model", "")).toBe("No model");
  });

  test("has a colour if it is among the most expensive, else it is one of the others", () => {
    const bucket = { time: 0, ...sums(1) };
    const series = [
      { by: "key", value: "key_1", name: "build", buckets: [bucket] },
      { by: "key", value: null, name: null, buckets: [bucket] },
    ];
    const layers = layersOf({ series } as unknown as Figures);
    expect(layers.map(({ name, values, isOther }) => ({ name, values, isOther }))).toEqual([
      { name: "build", values: ["key_1"], isOther: false },
      { name: "Others", values: ["key_1"], isOther: true },
    ]);
  });

  test("is measured by its cost or its tokens", () => {
    expect([amountOf(sums(1.5), "cost"), amountOf(sums(null), "cost"), amountOf(sums(1.5), "tokens")]).toEqual([
      1.5, 0, 50,
    ]);
  });
});

describe("a link to responses", () => {
  const range = { since: TODAY, until: TODAY + DAY };
  const times = "since:2026-11-28T00:00Z until:2026-11-29T00:00Z";

  test("of a day has its time in UTC", () => {
    expect(filterOf(pathTo(range))).toBe(times);
  });

  test("of a group has its filter, quoted where it has spaces", () => {
    expect(filterOf(pathTo({ ...range, by: "model", values: ["qwen3"] }))).toBe(`model:qwen3 ${times}`);
    expect(filterOf(pathTo({ ...range, by: "tenant", values: ["a b"] }))).toBe(`tenant:"a b" ${times}`);
  });

  test("of those without a key or of the others excludes", () => {
    expect(filterOf(pathTo({ ...range, by: "key", values: [""] }))).toBe(`key:"" ${times}`);
    expect(filterOf(pathTo({ ...range, by: "key", values: ["a", ""], isOther: true }))).toBe(`-key:a -key:"" ${times}`);
  });

  test("has no text that would end a value early", () => {
    expect(filterOf(pathTo({ ...range, by: "model", values: ['a" status:failed'] }))).toBe(`model:"a*" ${times}`);
  });
});

describe("budgets", () => {
  const row = (day: number, cost: string, api_key_id = "key_1") => ({
    start_time: day,
    api_key_id,
    requests: 1,
    input_tokens: 2,
    output_tokens: 3,
    cost: { value: cost },
  });
  const charges = [row(TODAY - 40 * DAY, "90"), row(TODAY - DAY, "0.1"), row(TODAY, "0.2"), row(TODAY, "7", "key_2")];

  test("have what their key was charged today and this month", () => {
    const keys = [
      { id: "key_1", name: "build", budget_per_day: "1.50", budget_per_month: "20" },
      { id: "key_2", name: "", budget_per_day: null, budget_per_month: "8" },
    ];
    expect(budgetsOf(keys, charges, NOW)).toEqual([
      { name: "build", key: "key_1", period: "day", most: 1.5, spent: 0.2 },
      { name: "build", key: "key_1", period: "month", most: 20, spent: 0.3 },
      { name: "key_2", key: "key_2", period: "month", most: 8, spent: 7 },
    ]);
  });

  test("and charges are sums of exact amounts", () => {
    expect(chargedFrom(charges, TODAY - DAY)).toEqual({ requests: 3, tokens: 15, cost: 7.3 });
  });
});

test("the file has all groups, and the sums of the others", () => {
  const times = { first_token_ms: { p50: 3, p95: 4 }, duration_ms: { p50: 5, p95: 6 } };
  const found = { groups: [{ by: "model", value: "", ...sums(1, times) }], rest: sums(2) } as unknown as Figures;
  const [head, ...rows] = cellsOf("model", found, "USD");
  expect(head).toContain("cost");
  expect(rows).toEqual([
    ["No model", "", 2, 1, 30, 10, 20, 1, "USD", 3, 4, 5, 6, 18, 900],
    ["Others", "", 2, 1, 30, 10, 20, 2, "USD", undefined, undefined, undefined, undefined, 18, 900],
  ]);
});

describe("the address", () => {
  const admin = { role: "admin", has_prices: true } as const;
  const view = (search: string, session: Parameters<typeof viewOf>[1] = admin) =>
    viewOf(new URLSearchParams(search), session, NOW);

  test("without a query has the cost of this week by model, and tokens without prices", () => {
    const week = { since: TODAY - 6 * DAY, until: TODAY + DAY, step: DAY };
    expect(view("")).toEqual({ q: "", by: "model", measure: "cost", period: week, days: 7 });
    expect(view("", { role: "read", has_prices: false }).measure).toBe("tokens");
  });

  test("has no groups that a reader may not see, and nothing that does not exist", () => {
    expect(view("by=tenant").by).toBe("tenant");
    expect(view("by=tenant", { role: "read", has_prices: true }).by).toBe("model");
    expect(view("by=constructor&measure=toString&days=8&since=soon")).toEqual(view(""));
  });

  test("has an exact time, in the steps of the server", () => {
    const longer = view("since=2026-11-20T10:20:30%2B01:00&until=2026-11-28T12:30:00Z").period;
    expect(longer).toEqual({ since: TODAY - 8 * DAY + 9 * 3600, until: TODAY + 13 * 3600, step: DAY });
    const shorter = view("since=2026-11-28T10:20:30Z").period;
    expect(shorter).toEqual({ since: TODAY + 10 * 3600 + 20 * 60, until: NOW / 1000, step: 3600 });
  });

  test("has days if its time ends before it begins", () => {
    expect(view("since=2026-11-28T10:00Z&until=2026-11-27T10:00Z&days=30").days).toBe(30);
  });
});

test("a step at the edge of a time is as long as the time has of it", () => {
  const period = { since: 10 * DAY + 100, until: 12 * DAY - 50, step: DAY };
  expect(timesOf(period)).toEqual([10 * DAY, 11 * DAY]);
  expect(rangeOf(period, 10 * DAY)).toEqual({ since: 10 * DAY + 100, until: 11 * DAY });
  expect(rangeOf(period, 11 * DAY)).toEqual({ since: 11 * DAY, until: 12 * DAY - 50 });
});
