/** The time zone of all times that are shown: the reader's, or UTC. */
import { zone } from "./preferences.ts";

/** Return the option of `toLocale…String` for the chosen zone. */
export function inZone(): { timeZone?: string } {
  return zone.value === "UTC" ? { timeZone: "UTC" } : {};
}

/** Return the offset of the chosen zone at a time: `Z`, or such as `+01:00`. */
export function offsetAt(ms: number): string {
  if (zone.value === "UTC") return "Z";
  const minutes = -new Date(ms).getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${two(hours)}:${two(rest)}`;
}

/** Return a time as the chosen zone's clock shows it, without the offset: `2026-11-28T05:11:00`. */
export function wallClock(ms: number): string {
  const minutes = zone.value === "UTC" ? 0 : new Date(ms).getTimezoneOffset();
  return new Date(ms - minutes * 60_000).toISOString().slice(0, 19);
}

/** Return the time at which the chosen zone's clock shows `2026-11-28T05:11`; NaN if no time does. */
export function fromWallClock(text: string): number {
  return Date.parse(zone.value === "UTC" ? `${text}Z` : text);
}

/** Return a time with the offset of the chosen zone: `2026-11-28T05:11:00+01:00`. */
export function withOffset(ms: number): string {
  return wallClock(ms) + offsetAt(ms);
}

/** Return the name of the chosen zone: `UTC`, or such as `Europe/Berlin`. */
export function zoneName(): string {
  return zone.value === "UTC" ? "UTC" : new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
