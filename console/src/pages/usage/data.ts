/** What the page of usage loads, and what it computes from that. Days are in UTC; times are seconds. */
import { request } from "../../api/client.ts";
import { serverNow } from "../../api/clock.ts";
import type { BudgetedKey } from "../../api/keys.ts";
import { figures } from "../../api/responses.ts";
import { session } from "../../api/session.ts";
import type { Counts, Figures, List, Session, Sums } from "../../api/types.ts";
import { quoted } from "../../parts/filter_value.ts";
import { minute, money, shortDate } from "../../parts/format.ts";
import { seesTenants } from "../../parts/tenant.tsx";
import { zoneName } from "../../parts/zone.ts";

export const DAY = 86_400;

/** What rows and bars are sums of. */
export type By = "model" | "key" | "tenant" | "backend";

/** What is compared. */
export type Measure = "cost" | "tokens" | "speed";

/** A time with the length of its steps, in seconds. */
export interface Period {
  since: number;
  until: number;
  step: number;
}

/** Groups with their own colour; the others are one. */
const LAYERS = 6;

/** Return the days that end with today, as whole days in UTC. */
export function daysUntil(now: number, days: number): { since: number; until: number } {
  const until = (Math.floor(now / 1000 / DAY) + 1) * DAY;
  return { since: until - days * DAY, until };
}

/** Load the sums of the responses of a time, by step and by group. */
export function loadFigures({ since, until, step }: Period, by: By, q: string, signal: AbortSignal): Promise<Figures> {
  return figures({ q, since, until, step, by, series: LAYERS }, signal);
}

/** Load the sums of each group in the time of the same length before. */
export async function loadBefore({ since, until }: Period, by: By, q: string, signal: AbortSignal) {
  const before = 2 * since - until;
  const { groups = [] } = await figures({ q, since: before, until: since, step: 31 * DAY, by }, signal);
  return new Map(groups.map((group) => [group.value, group]));
}

/** The usage of a key on one day, as it is charged. */
export interface UsageRow {
  start_time: number;
  api_key_id: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cost: { value: string };
}

/** Load what keys are charged for from the start of some days, or of this month if that is earlier. */
export async function loadCharges(since: number, signal: AbortSignal): Promise<UsageRow[]> {
  const { until } = daysUntil(serverNow(), 1);
  const query = {
    start_time: Math.min(since, monthOf(until - 1)),
    end_time: until,
    group_by: "key,day",
    tenant: seesTenants() && session().key_id !== null ? "*" : undefined,
  };
  return (await request<List<UsageRow>>("/v1/usage", { query, signal })).data;
}

/** Return the start of the month of a time. */
function monthOf(time: number): number {
  const when = new Date(time * 1000);
  return Date.UTC(when.getUTCFullYear(), when.getUTCMonth()) / 1000;
}

/** Sums of charges. */
export interface Charged {
  requests: number;
  tokens: number;
  cost: number;
}

/** Return the sums of the charges from a time on, of one key or of all; costs are added as exact numbers. */
export function chargedFrom(rows: readonly UsageRow[], since: number, key?: string): Charged {
  const found = rows.filter((row) => row.start_time >= since && (key === undefined || row.api_key_id === key));
  const sum = (value: (row: UsageRow) => number) => found.reduce((all, row) => all + value(row), 0);
  return {
    requests: sum(({ requests }) => requests),
    tokens: sum((row) => row.input_tokens + row.output_tokens),
    cost: sum(({ cost }) => Math.round(Number(cost.value) * 1e9)) / 1e9,
  };
}

/** A budget of a key, and what is spent of it. */
export interface Budget {
  name: string;
  key: string;
  period: "day" | "month";
  most: number;
  spent: number;
}

/** Return the budgets of keys with what was spent today and this month, on all endpoints. */
export function budgetsOf(keys: readonly BudgetedKey[], charges: readonly UsageRow[], now: number): Budget[] {
  const { since: today } = daysUntil(now, 1);
  return keys.flatMap(({ id, name, budget_per_day, budget_per_month }) => {
    const known = { name: name || id, key: id };
    const budget = (period: Budget["period"], most: string | null, since: number): Budget[] =>
      most === null ? [] : [{ ...known, period, most: Number(most), spent: chargedFrom(charges, since, id).cost }];
    return [...budget("day", budget_per_day, today), ...budget("month", budget_per_month, monthOf(today))];
  });
}

/** Return what is measured of sums: the cost, else the tokens. */
export function amountOf(sums: Pick<Sums, "cost" | "input_tokens" | "output_tokens">, measure: Measure): number {
  return measure === "cost" ? (sums.cost ?? 0) : sums.input_tokens + sums.output_tokens;
}

/** Return by what groups are sorted, the largest first. */
export function rankOf(sums: Sums, measure: Measure): number {
  return measure === "speed" ? (sums.duration_ms?.p50 ?? 0) : amountOf(sums, measure);
}

/** A group as it is shown: one with a colour, or all others. */
export interface Layer {
  name: string;
  values: readonly string[];
  isOther: boolean;
  byTime: ReadonlyMap<number, Counts>;
}

/** Return the groups with colours, the most expensive first. Each has its values, the others those they are not. */
export function layersOf({ series = [] }: Figures): Layer[] {
  const known = series.flatMap(({ value }) => (value === null ? [] : [value]));
  return series.map(({ by, value, name, buckets }) => ({
    name: value === null ? "Others" : nameOf(by, value, name),
    values: value === null ? known : [value],
    isOther: value === null,
    byTime: new Map(buckets.map((each) => [each.time, each])),
  }));
}

/** Return the steps of figures, also those without responses. Steps begin at multiples of their length, in UTC. */
export function timesOf({ since, until, step }: Period): number[] {
  const first = Math.floor(since / step) * step;
  return Array.from({ length: Math.ceil((until - first) / step) }, (_, at) => first + at * step);
}

/** Return the part of a step that belongs to the time of figures. */
export function rangeOf({ since, until, step }: Period, time: number): { since: number; until: number } {
  return { since: Math.max(since, time), until: Math.min(until, time + step) };
}

/** Return the name of a group; a key that was deleted has its ID. */
export function nameOf(by: string, value: string, name?: string | null): string {
  return name || value || `No ${by}`;
}

/** Return what an amount is shown as: without prices, nothing was counted, and a zero would say that it was free. */
export function costOf(amount: number | null, { currency, has_prices }: Pick<Session, "currency" | "has_prices">) {
  return has_prices || amount ? money(amount ?? 0, currency) : "—";
}

/** Return what a step is in words: a day in UTC, `28 Nov`, or an hour in the chosen zone, `28 Nov, 14:00`. */
export function stepText(time: number, step: number): string {
  const ms = time * 1000;
  if (step === DAY)
    return new Date(ms).toLocaleDateString(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
  return `${shortDate(ms)}, ${minute(ms)}`;
}

/** Return the zone of steps: days are in UTC, as budgets are, and hours in the chosen zone. */
export function zoneOf(step: number): string {
  return step === DAY ? "UTC" : zoneName();
}

interface Chosen {
  /** Filters besides the group and the time. */
  q?: string;
  by?: By;
  values?: readonly string[];
  isOther?: boolean;
  since: number;
  until: number;
}

/** Return the path of the list with the responses of a time, and of a group or of all others. */
export function pathTo({ q = "", by, values = [], isOther = false, since, until }: Chosen): string {
  const times = [`since:${iso(since)}`, `until:${iso(until)}`];
  const filters = values.map((value) => filterOf(by, value, isOther));
  return `?${new URLSearchParams({ q: [q, ...filters, ...times].filter(Boolean).join(" ") })}`;
}

/** Return the filter of a group, or of all others. */
export function filterOf(by: By | undefined, value: string, isOther = false): string {
  return `${isOther ? "-" : ""}${by}:${quoted(value)}`;
}

function iso(time: number): string {
  return `${new Date(time * 1000).toISOString().slice(0, 16)}Z`; // times are whole minutes
}

/** Return groups as the cells of a CSV file, with a head. */
export function cellsOf(by: By, { groups = [], rest }: Figures, currency: string | null): unknown[][] {
  const times = ["first_token_p50_ms", "first_token_p95_ms", "duration_p50_ms", "duration_p95_ms"];
  const tokens = ["input_tokens", "cached_tokens", "output_tokens"];
  const streamed = ["streamed_tokens", "streamed_ms"];
  const head = [by, "id", "responses", "failed", ...tokens, "cost", "currency", ...times, ...streamed];
  const row = (name: string, id: string, sums: Sums) => [
    name,
    id,
    sums.responses,
    sums.by_status.failed ?? 0,
    sums.input_tokens,
    sums.cached_tokens,
    sums.output_tokens,
    sums.cost,
    currency,
    ...[sums.first_token_ms, sums.duration_ms].flatMap((each) => [each?.p50, each?.p95]),
    sums.streamed_tokens,
    sums.streamed_ms,
  ];
  const rows = groups.map((group) => row(nameOf(by, group.value, group.name), group.value, group));
  return [head, ...rows, ...(rest ? [row("Others", "", rest)] : [])];
}
