/** The timeline of a response as rows with bars. Times are milliseconds from its start. */
import type { Details, Span, Summary, TimelineItem } from "../../api/types.ts";

/** What a part of a bar stands for. */
export type PartName = "queue" | "wait" | "reasoning" | "answer" | "tool" | "failed" | "now";

/** One row: a name, what is known besides, and a bar of parts that follow each other. */
export interface TimelineRow {
  name: string;
  detail: string;
  error: string;
  isNested: boolean;
  start: number;
  end: number;
  isRunning: boolean;
  parts: { name: PartName; ms: number }[];
  /** When items of the output began. */
  events: Mark[];
}

/** A moment: what happened. */
export interface Mark {
  name: string;
  at: number;
}

/** The rows, how long all of it took, and the moments that readers look for. */
export interface Timeline {
  rows: TimelineRow[];
  total: number;
  marks: Mark[];
}

/** Return the timeline of a response; `now` (epoch ms) is the end of what still runs. */
export function timelineOf({ summary, timeline }: Pick<Details, "summary" | "timeline">, now: number): Timeline {
  const passed = Math.max(0, now - summary.started_ms);
  const begun = Math.max(0, timeline.started_ms - summary.started_ms); // a background response waits before it
  const items = timeline.items.map((item) => placed(item, begun));
  const spans = isWhole(summary, timeline.items) ? timeline.spans.map(withoutFirst) : timeline.spans;
  const rows = spanRows(spans, items, begun, summary.duration_ms ?? passed);
  const queue = summary.queue_ms ?? (summary.status === "queued" ? passed : 0);
  if (queue > 0) rows.unshift(queueRow(queue));
  const total = Math.max(1, summary.duration_ms ?? passed, ...rows.map(({ end }) => end));
  return { rows, total, marks: isWhole(summary, timeline.items) ? [] : marksOf(spans, items, begun) };
}

/** Whether the output came all at once: then there was no first token before the others. */
function isWhole({ stream, websocket }: Summary, items: readonly TimelineItem[]): boolean {
  return stream === false && websocket === false && items.length === 0;
}

/** The whole time of such a call is that of its output. */
function withoutFirst(span: Span): Span {
  return { ...span, first_us: span.error === null ? span.start_us : null };
}

/** Return when the first token came, in a call that had one, and the first word of the answer where reasoning came first. */
function marksOf(spans: readonly Span[], items: readonly Item[], begun: number): Mark[] {
  const first = spans.find(({ kind, first_us }) => kind === "call" && first_us !== null)?.first_us ?? null;
  const word = items.findIndex(({ type }) => type === "message");
  const marks = first === null ? [] : [{ name: "first token", at: begun + first / 1000 }];
  return word < 1 ? marks : [...marks, { name: "first word", at: items[word]?.start ?? 0 }];
}

/** An item of the output, in milliseconds from the start. */
interface Item {
  type: string;
  start: number;
}

function placed({ type, start_us }: TimelineItem, begun: number): Item {
  return { type, start: begun + start_us / 1000 };
}

function queueRow(queue: number): TimelineRow {
  const parts = [{ name: "queue" as const, ms: queue }];
  const rest = { detail: "", error: "", isNested: false, isRunning: false, events: [] };
  return { ...rest, name: "Queue", start: 0, end: queue, parts };
}

/** Calls are numbered by round; a call after a failed one is the same round again, and tools belong to the call before. */
function spanRows(spans: readonly Span[], items: readonly Item[], begun: number, last: number): TimelineRow[] {
  let round = 0;
  let hasFailed = false;
  return spans.map((span) => {
    if (span.kind === "tool") return spanRow(span, span.name, toolOrigin(span.name), [], begun, last);
    if (!hasFailed) round += 1;
    const name = hasFailed ? `Call ${round}, again` : `Call ${round}`;
    hasFailed = span.error !== null;
    return spanRow(span, name, span.name, items, begun, last);
  });
}

function spanRow(
  span: Span,
  name: string,
  detail: string,
  items: readonly Item[],
  begun: number,
  last: number,
): TimelineRow {
  const start = begun + span.start_us / 1000;
  const end = span.end_us === null ? Math.max(start, last) : begun + span.end_us / 1000;
  const isTool = span.kind === "tool";
  const first = span.first_us === null ? end : Math.min(end, begun + span.first_us / 1000);
  const isRunning = span.end_us === null;
  const own = items.filter((item) => item.start >= start && item.start <= end);
  const parts = isTool
    ? [{ name: span.error ? ("failed" as const) : ("tool" as const), ms: end - start }]
    : callParts(span, own, start, first, end, isRunning);
  const error = span.error ?? "";
  const events = own.map((item) => ({ name: item.type.replaceAll("_", " "), at: item.start }));
  const row = { name: isTool ? shortName(name) : name, detail, error, isNested: isTool };
  return { ...row, start, end, isRunning, parts, events };
}

function callParts(
  span: Span,
  items: readonly Item[],
  start: number,
  first: number,
  end: number,
  isRunning: boolean,
): TimelineRow["parts"] {
  const wait: PartName = span.error !== null && span.first_us === null ? "failed" : "wait";
  const last: PartName = span.error !== null ? "failed" : isRunning ? "now" : "answer";
  const phases = phasesOf(items, first, end);
  const newest = phases.at(-1);
  if (newest && last !== "answer") newest.name = last;
  const output = phases.length > 0 ? phases : [{ name: last, ms: end - first }];
  return [{ name: wait, ms: first - start }, ...output].filter(({ ms }) => ms > 0);
}

/** Return what the model wrote between two times: reasoning, or the answer with its calls of tools. */
function phasesOf(items: readonly Item[], first: number, end: number): TimelineRow["parts"] {
  const phases: TimelineRow["parts"] = [];
  items.forEach(({ type, start }, at) => {
    const from = at === 0 ? first : Math.max(first, start);
    const ms = Math.max(first, items[at + 1]?.start ?? end) - from;
    const name = type === "reasoning" ? "reasoning" : "answer";
    const before = phases.at(-1);
    if (before?.name === name) before.ms += ms;
    else phases.push({ name, ms });
  });
  return phases;
}

function shortName(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}

function toolOrigin(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? "this server" : `MCP server ${name.slice(0, dot)}`;
}

/** A mark with its label: on which side of it, and in which row. */
export interface PlacedMark extends Mark {
  x: number;
  isBefore: boolean;
  row: 0 | 1;
}

const LETTER = 6.5; // px of a letter of a label, and of the space around it
const PLACES = [
  { isBefore: false, row: 0 },
  { isBefore: true, row: 0 },
  { isBefore: false, row: 1 },
  { isBefore: true, row: 1 },
] as const;

/** Return the marks with places for their labels, so that none covers another; `share` is a time's place from 0 to 1. */
export function placedMarks(marks: readonly Mark[], share: (ms: number) => number, width: number): PlacedMark[] {
  const taken: { row: number; from: number; to: number }[] = [];
  return marks
    .toReversed() // the last label has the least room to its right
    .map((mark) => {
      const x = share(mark.at) * width;
      const length = (mark.name.length + 2) * LETTER;
      const spans = PLACES.map((place) => ({
        ...place,
        from: place.isBefore ? x - length : x,
        to: place.isBefore ? x : x + length,
      }));
      const isFree = (span: (typeof spans)[number]) =>
        !taken.some((other) => other.row === span.row && other.from < span.to && span.from < other.to);
      const outside = (span: (typeof spans)[number]) => Math.max(0, -span.from) + Math.max(0, span.to - width);
      const free = spans.filter(isFree).sort((a, b) => outside(a) - outside(b));
      const { isBefore, row, from, to } = free[0] ?? { ...PLACES[0], from: x, to: x + length };
      taken.push({ row, from, to });
      return { ...mark, x: share(mark.at), isBefore, row };
    })
    .toReversed();
}

/** Return the times of at most `most` ticks between two times, in steps of 1, 2 or 5 times a power of ten. */
export function ticksOf(from: number, to: number, most = 9): number[] {
  const rough = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-3)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? power * 10;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at < to; at += step) ticks.push(at);
  return ticks;
}
