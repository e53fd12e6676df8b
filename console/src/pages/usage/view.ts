/** What the page shows, as its address has it: the time, the filters, the groups and the measure. */
import type { Session } from "../../api/types.ts";
import { query, setQuery } from "../../parts/router.tsx";
import { seesTenants } from "../../parts/tenant.tsx";
import { type By, DAY, daysUntil, type Measure, type Period } from "./data.ts";

const MINUTE = 60;
const HOUR = 3_600;
const MOST_BY_HOUR = 3 * DAY;

/** The numbers of days that a reader may choose. The first is usual: the page answers what a week cost. */
export const RANGES = [7, 30, 90] as const;

/** The groups, by name. */
export const GROUPS: Record<By, string> = { model: "Models", key: "Keys", tenant: "Tenants", backend: "Backends" };

/** The measures, by name. */
export const MEASURES: Record<Measure, string> = { cost: "Cost", tokens: "Tokens", speed: "Speed" };

/** What is shown. */
export interface View {
  /** Filters of responses besides the time. */
  q: string;
  by: By;
  measure: Measure;
  period: Period;
  /** The number of days until today; undefined for a time that the address names. */
  days: number | undefined;
}

/** Return the groups that a reader may choose: one of a single tenant has no groups of tenants. */
export function groupsOf(reader: Pick<Session, "role">): By[] {
  return (Object.keys(GROUPS) as By[]).filter((each) => each !== "tenant" || seesTenants(reader));
}

/** Return what an address asks for; what it names wrongly is as usual. */
export function viewOf(address: URLSearchParams, reader: Pick<Session, "role" | "has_prices">, now: number) {
  const custom = customPeriod(address.get("since"), address.get("until"), now);
  const days = RANGES.find((each) => String(each) === address.get("days")) ?? RANGES[0];
  const view: View = {
    q: address.get("q") ?? "",
    by: groupsOf(reader).find((each) => each === address.get("by")) ?? "model",
    measure: measureOf(address.get("measure")) ?? (reader.has_prices ? "cost" : "tokens"),
    period: custom ?? { ...daysUntil(now, days), step: DAY },
    days: custom ? undefined : days,
  };
  return view;
}

function measureOf(name: string | null): Measure | undefined {
  return (Object.keys(MEASURES) as Measure[]).find((each) => each === name);
}

/** Return a time that the address names, in the steps in which the server has sums, so that lists have the same responses. */
function customPeriod(from: string | null, to: string | null, now: number): Period | undefined {
  const [since, until] = [secondsOf(from), secondsOf(to) ?? now / 1000];
  if (since === undefined || since >= until) return;
  const unit = until - since > DAY ? HOUR : MINUTE;
  const period = { since: Math.floor(since / unit) * unit, until: Math.ceil(until / unit) * unit };
  return { ...period, step: until - since > MOST_BY_HOUR ? DAY : HOUR };
}

function secondsOf(time: string | null): number | undefined {
  const ms = Date.parse(time ?? "");
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** Change the address; Back undoes it. */
export function choose(changes: Record<string, string>): void {
  setQuery(changes, { replace: false });
}

/** Return the address of this page with other parts of its query. */
export function pathWith(changes: Record<string, string>): string {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) next.set(name, value);
  return `usage?${next}`;
}
