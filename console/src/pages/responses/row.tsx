/** One row of the list. */
import { useEffect, useRef } from "preact/hooks";
import type { Summary } from "../../api/types.ts";
import { clock, count, duration, exact } from "../../parts/format.ts";
import { Link, navigate } from "../../parts/router.tsx";
import { isRunning, StatusIcon, statusWord } from "../../parts/status.tsx";

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
  const first = Math.max(queue, Math.min(ms, row.first_token_ms ?? queue));
  const last = row.status === "failed" ? "failed" : isRunning(row) ? "now" : "answer";
  const parts: Part[] = [
    { name: "queue", ms: queue },
    { name: "wait", ms: first - queue },
    { name: last, ms: ms - first },
  ];
  return parts.filter((part) => part.ms > 0);
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

/** Return the error of a failed response: its code, and its message where it is kept. */
export function errorOf({ error_code: code, error_message: message }: Summary): string {
  return [code ?? "failed", message].filter(Boolean).join(": ");
}

interface Props {
  row: Summary;
  /** Its place in the list, from 0. */
  index: number;
  isHere: boolean;
  longest: number;
  now: number;
}

/** The row; a click anywhere opens the response. */
export function Row({ row, index, isHere, longest, now }: Props) {
  const ref = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isHere) ref.current?.scrollIntoView({ block: "nearest" });
  }, [isHere]);
  const ms = row.duration_ms ?? Math.max(0, now - row.started_ms);
  const outcome = outcomeOf(row);
  const open = (event: MouseEvent) => {
    if (!(event.target as Element).closest("a, button") && !getSelection()?.toString()) navigate(`r/${row.id}`);
  };
  const models = row.served_model && row.served_model !== row.model ? `${row.model} → ${row.served_model}` : row.model;
  return (
    <tr ref={ref} class={isHere ? "here" : ""} aria-selected={isHere} aria-rowindex={index + 2} onClick={open}>
      <td class="c-status">
        <StatusIcon status={row.status} />
      </td>
      <td class="c-started num muted" title={exact(row.started_ms)}>
        <div class="two">{clock(row.started_ms, now)}</div>
      </td>
      <td class="c-text">
        <Link to={`r/${row.id}`} class="first-line">
          <span class="dot" />
          <span class="cut">{row.input || row.id}</span>
        </Link>
        <div class={`second-line${outcome.isError ? " bad" : ""}`}>
          <span class="dot" />
          <span class="cut">{outcome.text}</span>
        </div>
      </td>
      <td class="c-model">
        <div class="two" title={models}>
          {models}
          <small>{row.cached ? "cache" : (row.backend ?? "—")}</small>
        </div>
      </td>
      <td class="c-tools">
        <Tools names={row.tools} />
      </td>
      <td class="c-tokens num">
        <div class="two">
          {row.usage.total_tokens ? count(row.usage.input_tokens) : "—"}
          <small>{row.usage.total_tokens ? `${count(row.usage.output_tokens)} out` : ""}</small>
        </div>
      </td>
      <td class="c-duration num">
        {duration(ms)}
        <DurationBar parts={partsOf(row, ms)} share={Math.sqrt(ms / Math.max(1, longest))} />
      </td>
      <td class="c-key muted">
        <div class="two" title={row.api_key_id ?? ""}>
          {row.api_key_name ?? row.api_key_id ?? "—"}
        </div>
      </td>
    </tr>
  );
}

function Tools({ names }: { names: string[] }) {
  const kinds = names.filter((name) => !name.includes("."));
  const rest = kinds.length - MOST_TAGS;
  return (
    <div class="tags" title={names.join(", ")}>
      {kinds.slice(0, MOST_TAGS).map((name) => (
        <span key={name} class={`tag${HOSTED.has(name) ? " hosted" : ""}`}>
          {SHORT[name] ?? name}
        </span>
      ))}
      {rest > 0 && <span class="tag">+{rest}</span>}
    </div>
  );
}

const SHORT: Record<string, string> = { web_search: "web", local_shell: "shell", apply_patch: "patch" };

function DurationBar({ parts, share }: { parts: Part[]; share: number }) {
  return (
    <div class="bar" aria-hidden="true" style={{ width: `${Math.min(100, 100 * share)}%` }}>
      {parts.map(({ name, ms }) => (
        <i key={name} class={`b-${name}`} style={{ flex: `${ms} 0 0` }} />
      ))}
    </div>
  );
}
