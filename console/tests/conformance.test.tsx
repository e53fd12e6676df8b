import { render } from "preact";
import { describe, expect, test } from "vitest";
import { areasOf, toneOf } from "../src/pages/conformance/compare.tsx";
import { Score, StateMark } from "../src/pages/conformance/parts.tsx";
import {
  byWeight,
  judgedOf,
  type Matrix,
  nameOf,
  type ReportSummary,
  type Result,
  verdictOf,
} from "../src/pages/conformance/types.ts";

function report(id: string, changes: Partial<ReportSummary> = {}): ReportSummary {
  return {
    id,
    server: "gpu-a",
    model: "m",
    conforms: true,
    musts_passed: 9,
    musts_broken: 0,
    ...changes,
  } as ReportSummary;
}

describe("reports", () => {
  test("are grouped by server and model, and their order stays", () => {
    const all = [report("c"), report("b", { model: "other" }), report("a")];
    expect(judgedOf(all).map(({ model, runs }) => [model, runs.map(({ id }) => id)])).toEqual([
      ["m", ["c", "a"]],
      ["other", ["b"]],
    ]);
  });

  test("have a verdict: conforms, how many musts are broken, or not judged", () => {
    expect(verdictOf(report("a")).words).toBe("conforms");
    expect(verdictOf(report("a", { conforms: false, musts_broken: 3 })).words).toBe("3 broken");
    expect(verdictOf(report("a", { conforms: false, musts_passed: 0 })).words).toBe("not judged");
  });

  test("show what needs a look first", () => {
    const results = (["passed", "skipped", "failed", "passed", "known"] as const).map(
      (state, at) => ({ id: `a:b:${at}`, state }) as Result,
    );
    expect(byWeight(results).map(({ id }) => nameOf(id))).toEqual(["2", "4", "1", "0", "3"]);
  });
});

describe("the matrix", () => {
  const row = (id: string, ...states: Matrix["areas"][number]["rows"][number]["states"]) =>
    ({ id, level: "must", sentence: "", states }) as const;
  const matrix: Matrix = {
    reports: [],
    areas: [
      {
        area: "a",
        kind: "protocol",
        scores: [],
        rows: [row("a:1", "passed", "passed"), row("a:2", "passed", "failed")],
      },
      { area: "b", kind: "protocol", scores: [], rows: [row("b:1", "passed", "passed")] },
    ],
  };

  test("can show only requirements in which servers differ", () => {
    expect(areasOf(matrix, false)).toBe(matrix.areas);
    expect(areasOf(matrix, true).map(({ area, rows }) => [area, rows.map(({ id }) => id)])).toEqual([["a", ["a:2"]]]);
  });

  test.each([
    ["12/12", "all"],
    ["0/4", "some"],
    ["-", "none"],
  ])("a score of %s is %s", (score, tone) => {
    expect(toneOf(score)).toBe(tone);
  });
});

test("a state has a word, not only a sign and a colour", () => {
  const root = document.createElement("div");
  render(<StateMark state="not offered" isShort />, root);
  expect(root.textContent).toContain("not offered");
});

test("a score of nothing says so", () => {
  const root = document.createElement("div");
  render(<Score passed={0} judged={0} />, root);
  expect(root.textContent).toBe("not judged");
});
