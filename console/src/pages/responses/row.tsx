/** One row of the list. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Summary } from "../../api/types.ts";
import { withFilter } from "../../parts/filter_line.ts";
import { quoted } from "../../parts/filter_value.ts";
import { count, dateBefore, duration, exact, timeOfDay } from "../../parts/format.ts";
import { responsePath } from "../../parts/paths.ts";
import { Link, navigate, query, setQuery } from "../../parts/router.tsx";
import { isRunning, StatusIcon, statusWord } from "../../parts/status.tsx";
import { seesTenants } from "../../parts/tenant.tsx";
import "./row.css";

const HOSTED = new Set(["mcp", "web_search"]);
const MOST_TAGS = 2;

/** A part of the bar of a duration: its class, and its share. */
export interface Part {
  name: "queue" | "wait" | "answer" | "failed" | "now" | "other";
  ms: number;
}

/** Return what the time of a response went into, as far as its summary says. */
export function partsOf(row: Summary, ms: number): Part[] {
  if (row.cached) return [{ name: "other", ms: Math.max(1, ms) }];
  const queue = Math.min(ms, row.queue_ms ?? (row.status === "queued" ? ms : 0));
  const firstToken = row.stream ? row.first_token_ms : null; // without a stream, the reader waits for all of it
  const first = Math.max(queue, Math.min(ms, firstToken ?? queue));
  const last = row.status === "failed" ? "failed" : isRunning(row) ? "now" : "answer";
  const parts: Part[] = [
    { name: "queue", ms: queue },
    { name: "wait", ms: first - queue },
    { name: last, ms: ms - first },
  ];
  return parts.filter((part) => part.ms > 0);
}

/** Return the text of the input, or the reason that no text is known. */
export function questionOf(row: Summary): string {
  if (row.input) return row.input;
  if (!row.store) return "No text is kept";
  if (row.previous_response_id || row.conversation_id) return "No message: an approval, or the output of a tool";
  return "No message";
}

/** Return the text below the input: the output, or why it is empty. */
export function outcomeOf(row: Summary): { text: string; isError: boolean } {
  if (row.status === "failed") return { text: errorOf(row), isError: true };
  if (row.status === "queued") return { text: "Waits in the queue", isError: false };
  if (row.output) return { text: row.output, isError: false };
  if (!row.store) return { text: "Not stored, so its text is not kept", isError: false };
  const called = row.tools.filter((tool) => !HOSTED.has(tool) && tool !== "function");
  if (called.length > 0) return { text: `Calls ${called.join(", ")}`, isError: false };
  return { text: statusWord(row.status), isError: false };
}

/** Return the error of a failed response: its message where it is kept, which says more, and its code. */
export function errorOf({ error_code: code, error_message: message }: Summary): string {
  return [message, code ?? "failed"].filter(Boolean).join(" · ");
}

interface Props {
  row: Summary;
  /** Its place in the list, from 0. */
  index: number;
  isHere: boolean;
  longest: number;
  now: number;
  /** The IDs of the rows that are chosen to compare. */
  picked: Signal<readonly string[]>;
}

/** The row; a click anywhere opens the response. */
export function Row({ row, index, isHere, longest, now, picked }: Props) {
  const ref = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isHere) ref.current?.scrollIntoView({ block: "nearest" });
  }, [isHere]);
  const ms = row.duration_ms ?? Math.max(0, now - row.started_ms);
  const outcome = outcomeOf(row);
  const path = responsePath(row.id);
  const open = (event: MouseEvent) => {
    if (!(event.target as Element).closest("a, button, label") && !getSelection()?.toString()) navigate(path);
  };
  const models = row.served_model && row.served_model !== row.model ? `${row.model} → ${row.served_model}` : row.model;
  return (
    <tr ref={ref} class={isHere ? "here" : ""} aria-selected={isHere} aria-rowindex={index + 2} onClick={open}>
      <td class="column-status">
        <StatusIcon status={row.status} />
        <Pick row={row} picked={picked} />
      </td>
      <td class="column-started num muted" title={exact(row.started_ms)}>
        <div class="two-lines">
          {timeOfDay(row.started_ms)}
          <small>{dateBefore(row.started_ms, now)}</small>
        </div>
      </td>
      <td class="column-text">
        <Link to={path} class="first-line">
          <span class="dot" />
          <span class="cut">{questionOf(row)}</span>
        </Link>
        <div class={`second-line${outcome.isError ? " bad" : ""}`}>
          <span class="dot" />
          <span class="cut" title={outcome.isError ? outcome.text : undefined}>
            {outcome.text}
          </span>
        </div>
      </td>
      <td class="column-model">
        <div class="two-lines" title={models}>
          <Value of="model" value={row.model}>
            {models}
          </Value>
          <small>{row.cached ? "cache" : <Value of="backend" value={row.backend} />}</small>
        </div>
      </td>
      <td class="column-tools">
        <Tools names={row.tools} />
      </td>
      <td class="column-tokens num">
        <div class="two-lines">
          {row.usage.total_tokens ? count(row.usage.input_tokens) : "—"}
          <small>{row.usage.total_tokens ? `${count(row.usage.output_tokens)} out` : ""}</small>
        </div>
      </td>
      <td class="column-duration num">
        {duration(ms)}
        <DurationBar parts={partsOf(row, ms)} share={Math.sqrt(ms / Math.max(1, longest))} />
      </td>
      <td class="column-key muted">
        <div class="two-lines" title={row.api_key_id ?? ""}>
          <Value of="key" value={row.api_key_name ?? row.api_key_id} />
          {seesTenants() && (
            <small>
              <Value of="tenant" value={row.tenant} />
            </small>
          )}
        </div>
      </td>
    </tr>
  );
}

interface ValueProps {
  /** The name of its filter. */
  of: "model" | "backend" | "key" | "tenant" | "tool";
  value: string | null;
  children?: ComponentChildren;
}

/** A value that a click filters by; keyboards have the chips and the field. */
function Value({ of: name, value, children = value }: ValueProps) {
  if (!value) return <>—</>;
  if (/[",*]/.test(value)) return <>{children}</>; // no filter has exactly this value
  const filter = () => setQuery({ q: withFilter(query.value.get("q") ?? "", name, quoted(value)) }, { replace: false });
  return (
    <button type="button" class="row-value" tabIndex={-1} title={`Filter by ${name}:${quoted(value)}`} onClick={filter}>
      {children}
    </button>
  );
}

const MOST_PICKED = 2;

/** The box that chooses a row to compare; a third choice takes the place of the first. */
function Pick({ row: { id, input }, picked }: { row: Summary; picked: Signal<readonly string[]> }) {
  const isPicked = picked.value.includes(id);
  const toggle = () => {
    picked.value = isPicked ? picked.value.filter((each) => each !== id) : [...picked.value, id].slice(-MOST_PICKED);
  };
  return (
    <label class="row-pick">
      <input type="checkbox" checked={isPicked} aria-label={`Compare: ${input || id}`} onChange={toggle} />
    </label>
  );
}

function Tools({ names }: { names: string[] }) {
  const kinds = names.filter((name) => !name.includes("."));
  const rest = kinds.length - MOST_TAGS;
  return (
    <div class="tags" title={names.join(", ")}>
      {kinds.slice(0, MOST_TAGS).map((name) => (
        <span key={name} class={`tag${HOSTED.has(name) ? " hosted" : ""}`}>
          <Value of="tool" value={name}>
            {SHORT[name] ?? name}
          </Value>
        </span>
      ))}
      {rest > 0 && <span class="tag">+{rest}</span>}
    </div>
  );
}

const SHORT: Record<string, string> = { web_search: "web", local_shell: "shell", apply_patch: "patch" };

function DurationBar({ parts, share }: { parts: Part[]; share: number }) {
  return (
    <div class="time-bar" aria-hidden="true" style={{ width: `${Math.min(100, 100 * share)}%` }}>
      {parts.map(({ name, ms }) => (
        <i key={name} class={`time-${name}`} style={{ flex: `${ms} 0 0` }} />
      ))}
    </div>
  );
}
