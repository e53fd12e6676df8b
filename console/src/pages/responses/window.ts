/** The time that figures and histogram cover. Times are seconds since the epoch. */
import { filterValue, withFilter } from "./filter_line.ts";

/** The ranges that a reader may choose, with their lengths in seconds. */
export const RANGES = {
  "15m": { name: "Last 15 minutes", seconds: 900 },
  "90m": { name: "Last 90 minutes", seconds: 5_400 },
  "24h": { name: "Last 24 hours", seconds: 86_400 },
  "7d": { name: "Last 7 days", seconds: 604_800 },
  "30d": { name: "Last 30 days", seconds: 2_592_000 },
} as const;

/** The name of a range in the address. */
export type Range = keyof typeof RANGES;

/** The range of a new visitor. */
export const USUAL_RANGE: Range = "90m";

/** A time with the length of its steps. */
export interface Window {
  since: number;
  until: number;
  step: number;
}

/** In whole minutes, as the server has them. */
const STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];
const MOST_STEPS = 100;

/** Return whether a text of the address names a range. */
export function isRange(text: string): text is Range {
  return Object.hasOwn(RANGES, text);
}

/** Return the time that a filter line names by `since:` and `until:` in UTC, else the range before `now`. */
export function windowOf(line: string, range: Range, now: number): Window {
  const from = Date.parse(filterValue(line, "since")) / 1000;
  const to = Date.parse(filterValue(line, "until")) / 1000;
  const until = Math.ceil((Number.isFinite(to) ? to : now) / 60) * 60;
  const since = Number.isFinite(from) && from < until ? Math.floor(from / 60) * 60 : until - RANGES[range].seconds;
  return { since, until, step: stepOf(until - since) };
}

/** Return the line with the time from `since` to `until`, which a reader chose in the histogram. */
export function withTime(line: string, since: number, until: number): string {
  return withFilter(withFilter(line, "since", iso(since)), "until", iso(until));
}

function stepOf(seconds: number): number {
  return STEPS.find((step) => seconds / step <= MOST_STEPS) ?? 86_400;
}

function iso(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}
