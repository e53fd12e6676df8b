/** Numbers and times as text, by the reader's locale. */
import { serverNow } from "../api/clock.ts";
import { inZone, wallClock } from "./zone.ts";

const DASH = "—";
const SHORTEST = 50; // ms

/** Return a duration in milliseconds: `416 ms`, `7.43 s`, `31.2 s`, `2 min 5 s`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return DASH;
  if (ms < 0.5 && ms > 0) return "<1 ms";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${fixed(ms / 1000, 2)} s`;
  if (ms < 59_950) return `${fixed(ms / 1000, 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/**
 * Return the speed of an output, `83 tokens/s`: of streamed responses, all their output tokens by all the time from the
 * first token to the end. Undefined if that time is too short to measure, or no token came.
 */
export function speed(tokens: number, ms: number): string | undefined {
  return tokens > 0 && ms >= SHORTEST ? `${count(Math.round((1000 * tokens) / ms))} tokens/s` : undefined;
}

/** Return a whole number with separators. */
export function count(value: number): string {
  return value.toLocaleString();
}

/** Return a number in few characters: `1.92 M`. */
export function compact(value: number): string {
  if (value < 10_000) return count(value);
  const [divisor, unit] =
    value < 999_500 ? [1_000, "k"] : value < 999_500_000 ? [1_000_000, "M"] : [1_000_000_000, "G"];
  const scaled = value / divisor;
  return `${fixed(scaled, scaled < 10 ? 2 : scaled < 100 ? 1 : 0)} ${unit}`;
}

/** Return a share as percent, with one digit below ten. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return DASH;
  const share = (100 * part) / whole;
  return `${fixed(share, share > 0 && share < 10 ? 1 : 0)} %`;
}

/** Return an amount of money; small amounts keep two digits that count. */
export function money(amount: number | null, currency: string | null): string {
  if (amount === null || currency === null) return DASH;
  const digits = amount === 0 || amount >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(amount)));
  return amount.toLocaleString(undefined, {
    style: "currency",
    currency,
    minimumFractionDigits: Math.min(digits, 4),
    maximumFractionDigits: Math.max(2, digits),
  });
}

/** Return a number of bytes: `1.9 kB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const [divisor, unit] = value < 999_500 ? [1e3, "kB"] : value < 999_500_000 ? [1e6, "MB"] : [1e9, "GB"];
  const scaled = value / divisor;
  return `${fixed(scaled, scaled < 10 ? 1 : 0)} ${unit}`;
}

/** Return the time of day in the chosen zone, with the date if that is not today. */
export function clock(ms: number, now: number = serverNow()): string {
  const date = dateBefore(ms, now);
  return date ? `${date}, ${minute(ms)}` : timeOfDay(ms);
}

/** Return the date in few characters if it is not today's, else an empty text. */
export function dateBefore(ms: number, now: number): string {
  return wallClock(ms).slice(0, 10) === wallClock(now).slice(0, 10) ? "" : shortDate(ms);
}

/** Return the time of day in the chosen zone, to the second. */
export function timeOfDay(ms: number): string {
  return wallClock(ms).slice(11);
}

/** Return the time of day in the chosen zone, to the minute. */
export function minute(ms: number): string {
  return wallClock(ms).slice(11, 16);
}

/** Return a date in few characters: `22 Dec`. */
export function shortDate(ms: number): string {
  return new Date(ms).toLocaleDateString(undefined, { day: "numeric", month: "short", ...inZone() });
}

/** Return a date in words: `22 December`. */
export function day(ms: number): string {
  return new Date(ms).toLocaleDateString(undefined, { day: "numeric", month: "long", ...inZone() });
}

/** Return the exact time, in the chosen zone and in UTC, for tooltips. */
export function exact(ms: number): string {
  return `${new Date(ms).toLocaleString(undefined, inZone())} (${new Date(ms).toISOString()})`;
}

/** Return a count with its noun: `1 response`, `4 responses`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

function fixed(value: number, digits: number): string {
  return value.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
