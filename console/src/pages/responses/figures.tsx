/** Six figures over the chosen time. */
import { session } from "../../api/session.ts";
import type { Figures } from "../../api/types.ts";
import { compact, count, duration, money, percent } from "../../parts/format.ts";

interface Figure {
  label: string;
  value: string;
  note: string;
}

/** Return the figures as labels, values and notes. */
export function figuresOf(found: Figures, currency: string | null): Figure[] {
  const { totals, since, until, in_flight, queued } = found;
  const minutes = Math.max(1, (until - since) / 60);
  const failed = totals.by_status.failed ?? 0;
  const first = totals.first_token_ms;
  return [
    { label: "Responses", value: compact(totals.responses), note: `${rate(totals.responses / minutes)} a minute` },
    { label: "Failed", value: percent(failed, totals.responses), note: failed ? count(failed) : "" },
    { label: "In flight", value: count(in_flight), note: queued ? `${count(queued)} queued` : "" },
    { label: "First token, p50", value: duration(first?.p50), note: first ? `p95 ${duration(first.p95)}` : "" },
    {
      label: "Tokens",
      value: compact(totals.input_tokens + totals.output_tokens),
      note: totals.input_tokens ? `${percent(totals.cached_tokens, totals.input_tokens)} cached` : "",
    },
    totals.cost === null || currency === null
      ? { label: "Duration, p50", value: duration(totals.duration_ms?.p50), note: slow(totals.duration_ms?.p95) }
      : { label: "Cost", value: money(totals.cost, currency), note: "by your prices" },
  ];
}

/** The figures; dashes until they are loaded, and where they could not be. */
export function FiguresList({ found, isFailed }: { found: Figures | undefined; isFailed: boolean }) {
  const figures = found ? figuresOf(found, session().currency) : PENDING;
  return (
    <dl class="figures" aria-busy={!found && !isFailed}>
      {figures.map(({ label, value, note }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value}
            {note && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const PENDING: Figure[] = ["Responses", "Failed", "In flight", "First token, p50", "Tokens", "Cost"].map((label) => ({
  label,
  value: "—",
  note: "",
}));

function slow(p95: number | undefined): string {
  return p95 === undefined ? "" : `p95 ${duration(p95)}`;
}

function rate(value: number): string {
  if (value > 0 && value < 0.1) return "<0.1";
  return value >= 10 || value === 0
    ? count(Math.round(value))
    : value.toLocaleString(undefined, { maximumFractionDigits: 1 });
}
