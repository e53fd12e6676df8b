import { expect, test } from "vitest";
import { costOf, nameOf } from "../src/pages/usage/rows.ts";

test("without prices a cost of nothing is not shown as free", () => {
  expect(costOf(0, { currency: "USD", has_prices: false })).toBe("—");
  expect(costOf(0, { currency: "USD", has_prices: true })).toBe("$0.00");
});

test("what was counted while there were prices is still shown", () => {
  expect(costOf(1.5, { currency: "USD", has_prices: false })).toBe("$1.50");
});

test("requests that call no model have a name in the table", () => {
  const row = { model: "", requests: 1, cost: { value: "0.00", currency: "USD" } };
  expect(nameOf(row as Parameters<typeof nameOf>[0])).toBe("no model");
});
