import { describe, expect, test } from "vitest";
import type { Span, Summary, TimelineItem } from "../src/api/types.ts";
import { placedMarks, ticksOf, timelineOf } from "../src/pages/response/timeline.ts";

function span(
  kind: Span["kind"],
  name: string,
  start: number,
  first: number | null,
  end: number | null,
  error: string | null = null,
): Span {
  const us = (ms: number | null) => (ms === null ? null : ms * 1000);
  return { kind, name, start_us: start * 1000, first_us: us(first), end_us: us(end), error };
}

function item(type: string, start: number): TimelineItem {
  return { type, start_us: start * 1000, end_us: null };
}

function laidOut(spans: Span[], summary: Partial<Summary> = {}, now = 0, started_ms = 0, items: TimelineItem[] = []) {
  const facts = {
    started_ms: 0,
    status: "completed",
    duration_ms: 1000,
    queue_ms: 0,
    first_token_ms: null,
    ...summary,
  } as Summary;
  return timelineOf({ summary: facts, timeline: { started_ms, spans, items } }, now);
}

describe("the timeline", () => {
  test("an answer that came all at once has no first token", () => {
    const calls = [span("call", "gpu-a", 0, null, 40, "503"), span("call", "gpu-b", 40, 990, 1000)];
    const plain = { stream: false, websocket: false };
    const { rows, marks } = laidOut(calls, plain);
    expect(rows.map(({ parts }) => parts)).toEqual([[{ name: "failed", ms: 40 }], [{ name: "answer", ms: 960 }]]);
    expect(marks).toEqual([]);
    expect(laidOut(calls, plain, 0, 0, [item("message", 990)]).marks).toHaveLength(1); // it ran in the background
  });

  test("the first token of a response that waited is marked where its bar begins", () => {
    const { rows, marks } = laidOut([span("call", "gpu-a", 0, 10, 100)], { queue_ms: 50, duration_ms: 150 }, 0, 50);
    expect(marks).toEqual([{ name: "first token", at: 60 }]);
    expect(rows[1]?.parts[0]).toEqual({ name: "wait", ms: 10 });
  });

  test("a retry belongs to the round of the call that failed", () => {
    const { rows } = laidOut([
      span("call", "gpu-a", 0, null, 40, "503"),
      span("call", "gpu-b", 44, 100, 400),
      span("tool", "tracker.search", 400, null, 500),
      span("call", "gpu-b", 500, 600, 1000),
    ]);
    expect(rows.map(({ name }) => name)).toEqual(["Call 1", "Call 1, again", "search", "Call 2"]);
    expect(rows.map(({ detail }) => detail)).toEqual(["gpu-a", "gpu-b", "MCP server tracker", "gpu-b"]);
  });

  test("a call is the wait for its first token, then its output", () => {
    const [row] = laidOut([span("call", "gpu-a", 100, 300, 900)]).rows;
    expect(row?.parts).toEqual([
      { name: "wait", ms: 200 },
      { name: "answer", ms: 600 },
    ]);
  });

  test("reasoning and the answer are parts of the call that made them, and the first word is marked", () => {
    const items = [item("reasoning", 310), item("message", 500), item("function_call", 800)];
    const { rows, marks } = laidOut([span("call", "gpu-a", 100, 300, 900)], {}, 0, 0, items);
    expect(rows[0]?.parts).toEqual([
      { name: "wait", ms: 200 },
      { name: "reasoning", ms: 200 },
      { name: "answer", ms: 400 },
    ]);
    expect(rows[0]?.events.map(({ name }) => name)).toEqual(["reasoning", "message", "function call"]);
    expect(marks).toEqual([
      { name: "first token", at: 300 },
      { name: "first word", at: 500 },
    ]);
  });

  test("each call has the items that it made", () => {
    const spans = [span("call", "gpu-a", 0, 10, 100), span("call", "gpu-a", 200, 210, 300)];
    const { rows } = laidOut(spans, {}, 0, 0, [item("reasoning", 20), item("message", 220)]);
    expect(rows.map(({ parts }) => parts.map(({ name }) => name))).toEqual([
      ["wait", "reasoning"],
      ["wait", "answer"],
    ]);
  });

  test("what is written now is running", () => {
    const items = [item("reasoning", 300), item("message", 500)];
    const { rows } = laidOut([span("call", "gpu-a", 0, 300, null)], { duration_ms: null }, 900, 0, items);
    expect(rows[0]?.parts.map(({ name }) => name)).toEqual(["wait", "reasoning", "now"]);
  });

  test("a call that broke in the middle shows where", () => {
    const [row] = laidOut([span("call", "gpu-a", 0, 300, 900, "server_error")]).rows;
    expect(row?.parts.map(({ name }) => name)).toEqual(["wait", "failed"]);
  });

  test("the first token is where a call of the model had one, in parts of a millisecond", () => {
    const spans = [span("call", "gpu-a", 0, null, 0.3, "503"), span("call", "gpu-b", 0.4, 0.75, 2)];
    expect(laidOut(spans, { first_token_ms: 0 }).marks).toEqual([{ name: "first token", at: 0.75 }]);
    expect(laidOut([span("call", "gpu-a", 0, null, 40, "503")]).marks).toEqual([]);
  });

  test("the time in the queue comes first", () => {
    const [row] = laidOut([span("call", "gpu-a", 416, 500, 900)], { queue_ms: 416 }).rows;
    expect(row).toMatchObject({ name: "Queue", start: 0, end: 416 });
  });

  test("what runs grows until now, and is in no bar beyond it", () => {
    const { rows, total } = laidOut(
      [span("call", "gpu-a", 100, 200, null)],
      { status: "in_progress", duration_ms: null },
      2500,
    );
    expect(rows[0]).toMatchObject({ isRunning: true, end: 2500 });
    expect(total).toBe(2500);
  });

  test("a background response waits before its timeline begins", () => {
    const { rows, total } = laidOut([span("call", "gpu-a", 0, 10, 100)], { queue_ms: 50, duration_ms: 150 }, 0, 50);
    expect(rows.map(({ start, end }) => [start, end])).toEqual([
      [0, 50],
      [50, 150],
    ]);
    expect(total).toBe(150);
  });

  test("a span that ends after the response is inside the axis", () => {
    expect(laidOut([span("call", "gpu-a", 0, 10, 1500)]).total).toBe(1500);
  });

  test.each([
    [0, 7430, 8],
    [0, 3, 6],
    [1200, 1300, 5],
    [0, 3_600_000, 8],
  ])("ticks from %d to %d are few and inside", (from, to, least) => {
    const ticks = ticksOf(from, to);
    expect(ticks.length).toBeGreaterThanOrEqual(least - 3);
    expect(ticks.length).toBeLessThanOrEqual(10);
    expect(ticks.every((tick) => tick >= from && tick < to)).toBe(true);
  });
});

describe("the labels of the marks", () => {
  const marks = [
    { name: "first token", at: 0 },
    { name: "first word", at: 1 },
  ];
  const placed = (x: number, y: number, width: number) =>
    placedMarks(marks, (ms) => (ms === 0 ? x : y), width).map(({ isBefore, row }) => [isBefore, row]);

  test.each([
    ["follow their marks where there is room", 0.1, 0.6, 800, [false, 0], [false, 0]],
    ["stand before and after two marks that are close", 0.4, 0.41, 800, [true, 0], [false, 0]],
    ["stay inside at the right end", 0.2, 0.99, 800, [false, 0], [true, 0]],
    ["stand where least of them is outside if no place is wide enough", 0.14, 0.71, 94, [false, 1], [true, 0]],
    ["have a row each where the width is that of a phone", 0.1, 0.4, 175, [false, 1], [false, 0]],
  ])("%s", (_, x, y, width, a, b) => {
    expect(placed(x, y, width)).toEqual([a, b]);
  });
});

test("an axis has no more ticks than fit", () => {
  expect(ticksOf(0, 7_430, 3).map(Math.abs)).toEqual([0, 5_000]);
  expect(ticksOf(0, 7_430, 2).map(Math.abs)).toEqual([0, 5_000]);
  for (const from of [0, 1, 499, 7_000]) expect(ticksOf(from, from + 7_430, 9).length).toBeLessThanOrEqual(9);
});
