import { expect, test } from "vitest";
import { speed } from "../src/parts/format.ts";

test("the speed of an output is its tokens by the time from the first one to the end", () => {
  expect(speed(240, 4_000)).toBe("60 tokens/s");
  expect(speed(3, 2_000)).toBe("2 tokens/s");
});

test.each([
  [0, 4_000],
  [240, 0],
  [240, 49],
])("%i tokens in %i ms have no speed", (tokens, ms) => {
  expect(speed(tokens, ms)).toBeUndefined();
});
