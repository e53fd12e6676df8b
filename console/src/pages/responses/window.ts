/** The time that the filter line names, and that list, figures and histogram cover together.
 *
 * `since:` and `until:` have a time with an offset, or say how long ago. A time without an offset is UTC in an
 * address, as for the API; one that the reader types is of the zone that the page shows, and gets its offset.
 * Times are seconds since the epoch.
 */

import { filterOf, filterValue, format, parse, withFilter } from "../../parts/filter_line.ts";
import { fromWallClock, wallClock, withOffset } from "../../parts/zone.ts";

/** The ranges that a reader may choose, by the value of `since:`. */
export const RANGES = {
  "15m": "Last 15 minutes",
  "1h": "Last hour",
  "90m": "Last 90 minutes",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
} as const;

const USUAL = 5_400; // seconds that the figures cover if the line names no time

/** A time with the length of its steps. */
export interface Window {
  since: number;
  until: number;
  step: number;
}

/** In whole minutes, as the server has them. */
const STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];
const MOST_STEPS = 100;
const AGES: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };
const AGO = /^(\d{1,6})([smhdw])$/;
const OFFSET = /(Z|[+-]\d\d:\d\d)$/;
const CLOCK = /^(?:(.*?)[T,\s]+)?(\d{1,2}:\d\d(?::\d\d)?)$/;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** Return the time of `since:` or `until:` as the server reads it; NaN if it is none. */
export function secondsOf(value: string, now: number): number {
  const [, number, unit = ""] = AGO.exec(value) ?? [];
  if (number) return now - Number(number) * (AGES[unit] ?? 0);
  return Date.parse(OFFSET.test(value) || DATE.test(value) ? value : `${value}Z`) / 1000;
}

/** Return the time that a line names, else the last 90 minutes before `now`; in whole minutes. */
export function windowOf(line: string, now: number): Window {
  const from = secondsOf(filterValue(line, "since"), now);
  const to = secondsOf(filterValue(line, "until"), now);
  const until = Math.ceil((Number.isFinite(to) ? to : now) / 60) * 60;
  const since = Number.isFinite(from) && from < until ? Math.floor(from / 60) * 60 : until - USUAL;
  return { since, until, step: stepOf(until - since) };
}

/** Return the line with the time from `since` to `until`, in seconds, or without an end. */
export function withTime(line: string, since: number, until: number | undefined): string {
  const end = until === undefined ? "" : withOffset(until * 1000);
  return withFilter(withFilter(line, "since", withOffset(since * 1000)), "until", end);
}

/** Return the line with a range of `RANGES` that moves on with the time, or without any time. */
export function withRange(line: string, range: string): string {
  return withFilter(withFilter(line, "until", ""), "since", range);
}

/** Return the line as a link has it: with the time that is shown now, which stays the same later. */
export function fixed(line: string, now: number): string {
  const exact = (name: string) => secondsOf(filterValue(line, name), now);
  const { since } = windowOf(line, now);
  return withTime(line, Math.floor(exact("since") || since), Math.ceil(exact("until") || now));
}

/** Return the line that a reader typed with the offset of the shown zone in each time that has none. */
export function withOffsets(line: string, now: number): string {
  return format(
    parse(line).map((part) => {
      if (part.name !== "since" && part.name !== "until") return part;
      const ms = typedTime(part.value, now);
      return Number.isFinite(ms) ? filterOf(part.name, withOffset(ms)) : part;
    }),
  );
}

/** Return the milliseconds of a time as the page shows it, such as `06:12`; NaN if it is none, or has an offset. */
export function typedTime(value: string, now: number): number {
  if (AGO.test(value) || OFFSET.test(value)) return Number.NaN;
  if (DATE.test(value)) return fromWallClock(`${value}T00:00:00`);
  const [, date, time] = CLOCK.exec(value) ?? [];
  if (!time) return Number.NaN;
  return fromWallClock(`${dateOf(date, now)}T${time.padStart(time.length < 6 ? 5 : 8, "0")}`);
}

/** Return a date as `2026-11-28`: today, or what a date such as `28 Nov` means in this year or the last one. */
function dateOf(date: string | undefined, now: number): string {
  const today = wallClock(now * 1000).slice(0, 10);
  if (!date) return today;
  if (DATE.test(date)) return date;
  const year = Number(today.slice(0, 4));
  const found = [year, year - 1]
    .map((each) => new Date(`${date} ${each} 12:00Z`))
    .filter((each) => !Number.isNaN(+each));
  const past = found.map((each) => each.toISOString().slice(0, 10)).find((each) => each <= today);
  return past ?? "";
}

function stepOf(seconds: number): number {
  return STEPS.find((step) => seconds / step <= MOST_STEPS) ?? 86_400;
}
