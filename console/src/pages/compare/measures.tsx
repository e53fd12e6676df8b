/** The facts of two responses, and how they differ. */
import { session } from "../../api/session.ts";
import type { Summary } from "../../api/types.ts";
import { count, duration, money, shortDate, timeOfDay } from "../../parts/format.ts";
import { statusWord } from "../../parts/status.tsx";

/** A number of a response, and how it is written. */
interface Measure {
  name: string;
  value: (row: Summary) => number | null;
  text: (value: number) => string;
}

const MEASURES: readonly Measure[] = [
  { name: "Duration", value: (row) => row.duration_ms, text: duration },
  { name: "First token", value: (row) => row.first_token_ms, text: duration },
  { name: "Queue", value: (row) => row.queue_ms, text: duration },
  { name: "Input tokens", value: ({ usage }) => usage.input_tokens, text: count },
  { name: "Cached tokens", value: ({ usage }) => usage.input_tokens_details.cached_tokens, text: count },
  { name: "Output tokens", value: ({ usage }) => usage.output_tokens, text: count },
  { name: "Reasoning tokens", value: ({ usage }) => usage.output_tokens_details.reasoning_tokens, text: count },
  { name: "Cost", value: (row) => row.cost, text: (value) => money(value, session().currency) },
  { name: "Model calls", value: (row) => row.calls, text: count },
];

const WORDS: readonly { name: string; text: (row: Summary) => string }[] = [
  { name: "Status", text: (row) => [statusWord(row.status), row.error_code].filter(Boolean).join(", ") },
  { name: "Model", text: (row) => row.served_model ?? row.model },
  { name: "Backend", text: (row) => (row.cached ? "from the cache" : (row.backend ?? "none")) },
  { name: "Key", text: (row) => row.api_key_name ?? row.api_key_id ?? "none" },
  { name: "Started", text: ({ started_ms: ms }) => `${shortDate(ms)}, ${timeOfDay(ms)}` },
];

/** The table: a fact a row, A, B, and the difference. */
export function Measures({ a, b }: { a: Summary | undefined; b: Summary | undefined }) {
  const rows = MEASURES.filter(({ value }) => [a, b].some((row) => row && (value(row) ?? 0) !== 0));
  return (
    <section class="sheet compare-measures" id="compare-facts" tabIndex={-1} aria-label="Facts">
      <table>
        <caption class="visually-hidden">The facts of both responses</caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Fact</span>
            </th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {WORDS.map(({ name, text }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{a ? text(a) : "—"}</td>
              <td>{b ? text(b) : "—"}</td>
              <td class="muted">{a && b && text(a) !== text(b) && name !== "Started" ? "differs" : ""}</td>
            </tr>
          ))}
          {rows.map(({ name, value, text }) => {
            const [left, right] = [a ? value(a) : null, b ? value(b) : null];
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="num">{left === null ? "—" : text(left)}</td>
                <td class="num">{right === null ? "—" : text(right)}</td>
                <td class="num">{differenceOf(left, right, text)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** Return how much more or less B has, also in percent: `+1.2 s (+40 %)`. */
export function differenceOf(a: number | null, b: number | null, text: (value: number) => string): string {
  if (a === null || b === null || a === b) return "";
  const sign = b > a ? "+" : "−";
  const share = a === 0 ? "" : ` (${sign}${count(Math.round((100 * Math.abs(b - a)) / a))}\u00a0%)`;
  return `${sign}${text(Math.abs(b - a))}${share}`;
}
