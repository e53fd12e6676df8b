/** The facts of a response. */
import { session } from "../../api/session.ts";
import type { Details, Summary } from "../../api/types.ts";
import { bytes, clock, count, day, duration, exact, money, plural } from "../../parts/format.ts";
import { statusWord } from "../../parts/status.tsx";

interface Fact {
  label: string;
  value: string;
  note: string;
  title?: string;
}

/** Return the facts as labels, values and notes. */
export function factsOf({ summary, kept_until }: Details, now: number, currency: string | null): Fact[] {
  const { usage } = summary;
  const ms = summary.duration_ms ?? Math.max(0, now - summary.started_ms);
  return [
    { label: "Status", value: statusWord(summary.status), note: summary.error_code ?? modesOf(summary) },
    { label: "Model", value: summary.served_model ?? summary.model, note: answeredBy(summary) },
    { label: "Duration", value: duration(ms), note: speedOf(summary, ms) },
    {
      label: "Tokens",
      value: `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out`,
      note: tokenNote(summary),
    },
    ...(currency === null
      ? []
      : [
          {
            label: "Cost",
            value: money(summary.cost, currency),
            note: summary.cost === null ? "no price" : "by your prices",
          },
        ]),
    { label: "Key", value: summary.api_key_name ?? summary.api_key_id ?? "none", note: summary.tenant },
    {
      label: "Stored",
      value: summary.store ? (kept_until === null ? "yes" : `until ${day(kept_until * 1000)}`) : "no",
      note: `started ${clock(summary.started_ms, now)}, ${bytes(summary.request_bytes)}`,
      title: exact(summary.started_ms),
    },
  ];
}

/** The facts as a list. */
export function FactsList({ details, now }: { details: Details; now: number }) {
  const { currency, has_prices } = session();
  const priced = has_prices || details.summary.cost !== null ? currency : null;
  return (
    <dl class="sheet facts">
      {factsOf(details, now, priced).map(({ label, value, note, title }) => (
        <div key={label} title={title}>
          <dt>{label}</dt>
          <dd>
            {value}
            <small>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function modesOf(summary: Summary): string {
  const modes = [
    summary.background && "background",
    summary.completion_window && `within ${summary.completion_window}`,
    summary.websocket ? "WebSocket" : summary.stream && "streamed",
    summary.attempts > 1 && plural(summary.attempts, "attempt"),
  ];
  return modes.filter(Boolean).join(", ") || "plain";
}

function answeredBy({ cached, backend, model, served_model }: Summary): string {
  const where = cached ? "from the cache" : backend ? `on ${backend}` : "no backend yet";
  return served_model && served_model !== model ? `${where}, requested as ${model}` : where;
}

function speedOf(summary: Summary, ms: number): string {
  const first = summary.first_token_ms;
  if (first === null) return "";
  const seconds = (ms - first) / 1000;
  const speed = seconds > 0.05 ? `, ${Math.round(summary.usage.output_tokens / seconds)} tokens/s` : "";
  return `first token ${duration(first)}${speed}`;
}

function tokenNote({ usage }: Summary): string {
  const cached = usage.input_tokens_details.cached_tokens;
  const reasoning = usage.output_tokens_details.reasoning_tokens;
  return [cached && `${count(cached)} cached`, reasoning && `${count(reasoning)} reasoning`].filter(Boolean).join(", ");
}
