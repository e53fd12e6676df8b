/** The facts of a response. */
import { session } from "../../api/session.ts";
import type { Details, Summary } from "../../api/types.ts";
import { copy } from "../../parts/copy.ts";
import { bytes, clock, count, day, duration, exact, money, plural, speed } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { visible } from "../../parts/raw.tsx";
import { Link } from "../../parts/router.tsx";
import { statusWord } from "../../parts/status.tsx";
import "./facts.css";

interface Fact {
  label: string;
  value: string;
  note: string;
  title?: string;
}

/** Return the facts as labels, values and notes. */
export function factsOf(
  { summary, kept_until, has_steps, body }: Details,
  now: number,
  currency: string | null,
): Fact[] {
  const { usage } = summary;
  const ms = summary.duration_ms ?? Math.max(0, now - summary.started_ms);
  return [
    { label: "Status", value: statusWord(summary.status), note: summary.error_code ?? modesOf(summary) },
    {
      label: "Model",
      value: summary.served_model ?? summary.model,
      note: has_steps ? "an agent" : answeredBy(summary),
    },
    { label: "Duration", value: duration(ms), note: speedOf(summary, ms) },
    {
      label: "Tokens",
      value: hasUsage(summary) ? `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out` : "not reported",
      note: tokenNote(summary),
    },
    ...(currency === null
      ? []
      : [
          {
            label: "Cost",
            value: money(summary.cost, currency),
            note: costNote(summary),
          },
        ]),
    { label: "Key", value: summary.api_key_name ?? summary.api_key_id ?? "none", note: summary.tenant },
    {
      label: "Stored",
      value: body === "stored" && kept_until !== null ? `until ${day(kept_until * 1000)}` : STORED[body],
      note: `started ${clock(summary.started_ms, now)}, ${bytes(summary.request_bytes)}`,
      title: exact(summary.started_ms),
    },
  ];
}

const STORED = { stored: "yes", not_stored: "no", pending: "when it ends", failed_before: "no", expired: "no more" };

/** The facts as a list. */
export function FactsList({ details, now }: { details: Details; now: number }) {
  const { currency, has_prices } = session();
  const priced = has_prices || details.summary.cost !== null ? currency : null;
  return (
    <section class="sheet facts-sheet" aria-label="Facts">
      <dl class="facts">
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
      <Ids details={details} />
    </section>
  );
}

/** The whole IDs: that of the response, of its request as in the log, and of its conversation. */
function Ids({ details: { summary, request_id } }: { details: Details }) {
  const { id, conversation_id: conversation } = summary;
  return (
    <dl class="facts-ids">
      <IdRow name="Response ID" id={id} />
      {request_id !== null && <IdRow name="Request ID" id={request_id} />}
      {conversation !== null && <IdRow name="Conversation" id={conversation} to={`conversations/${conversation}`} />}
    </dl>
  );
}

function IdRow({ name, id, to }: { name: string; id: string; to?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {to ? (
          <Link to={to} class="id-link">
            {visible(id)}
          </Link>
        ) : (
          <code>{visible(id)}</code>
        )}
        <button type="button" class="btn bare icon" aria-label={`Copy ${name}`} onClick={() => copy(id, name)}>
          <Icon name="copy" />
        </button>
      </dd>
    </div>
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
  const where = cached ? "from the cache" : backend ? `on ${backend}` : "no backend";
  return served_model && served_model !== model ? `${where}, requested as ${model}` : where;
}

/** Whether the tokens are known: a backend reports them at the end, and one that fails may report none. */
function hasUsage({ status, usage }: Summary): boolean {
  return status === "completed" || usage.input_tokens + usage.output_tokens > 0;
}

function speedOf(summary: Summary, ms: number): string {
  const first = summary.first_token_ms;
  if (first === null) return "";
  return [`first token ${duration(first)}`, speed(summary.usage.output_tokens, ms - first)].filter(Boolean).join(", ");
}

function costNote({ cost, usage_is_estimated }: Summary): string {
  if (cost === null) return "no price";
  return usage_is_estimated ? "an estimate, by your prices" : "by your prices";
}

function tokenNote({ usage, usage_is_estimated }: Summary): string {
  const cached = usage.input_tokens_details.cached_tokens;
  const reasoning = usage.output_tokens_details.reasoning_tokens;
  return [
    usage_is_estimated && "counted in the texts, not reported",
    cached && `${count(cached)} cached`,
    reasoning && `${count(reasoning)} reasoning`,
  ]
    .filter(Boolean)
    .join(", ");
}
