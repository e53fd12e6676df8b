import { expect, test } from "vitest";
import { costOf } from "../src/pages/usage/rows.ts";

test("without prices a cost of nothing is not shown as free", () => {
  expect(costOf(0, { currency: "USD", has_prices: false })).toBe("—");
  expect(costOf(0, { currency: "USD", has_prices: true })).toBe("$0.00");
});

test("what was counted while there were prices is still shown", () => {
  expect(costOf(1.5, { currency: "USD", has_prices: false })).toBe("$1.50");
});
