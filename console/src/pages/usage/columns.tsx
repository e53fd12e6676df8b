/** The columns of the tables, by what is measured. */
import type { ComponentChildren } from "preact";
import { session } from "../../api/session.ts";
import type { Sums } from "../../api/types.ts";
import { count, duration, percent, speed } from "../../parts/format.ts";
import { amountOf, costOf, type Measure } from "./data.ts";

/** What a row is compared with: the sums of all rows, and its own in the time before. */
interface Compared {
  all: Sums;
  before?: Sums | undefined;
}

interface Column {
  name: string;
  value: (sums: Sums, compared: Compared) => ComponentChildren;
}

const RESPONSES: Column = { name: "Responses", value: ({ responses }) => count(responses) };
const TOKENS: readonly Column[] = [
  RESPONSES,
  { name: "Failed", value: ({ by_status }) => count(by_status.failed ?? 0) },
  { name: "Input", value: ({ input_tokens }) => count(input_tokens) },
  { name: "Cached", value: ({ cached_tokens, input_tokens }) => percent(cached_tokens, input_tokens) },
  { name: "Output", value: ({ output_tokens }) => count(output_tokens) },
];
const COST: Column = { name: "Cost", value: ({ cost }) => costOf(cost, session()) };

/** The columns of each measure. */
export const COLUMNS: Record<Measure, readonly Column[]> = {
  cost: [...TOKENS, share("cost"), COST],
  tokens: [...TOKENS, share("tokens"), COST],
  speed: [
    RESPONSES,
    compared("Failed", ({ by_status, responses }) => percent(by_status.failed ?? 0, responses)),
    compared("First token, p50", ({ first_token_ms }) => duration(first_token_ms?.p50)),
    compared("First token, p95", ({ first_token_ms }) => duration(first_token_ms?.p95)),
    compared("Duration, p50", ({ duration_ms }) => duration(duration_ms?.p50)),
    compared("Duration, p95", ({ duration_ms }) => duration(duration_ms?.p95)),
    compared("Output speed", ({ streamed_tokens, streamed_ms }) => speed(streamed_tokens, streamed_ms) ?? "—"),
  ],
};

function share(measure: Measure): Column {
  return { name: "Share", value: (sums, { all }) => percent(amountOf(sums, measure), amountOf(all, measure)) };
}

function compared(name: string, value: (sums: Sums) => string): Column {
  const cell = (sums: Sums, { before }: Compared) => (
    <span>
      {value(sums)} {before && <small class="muted">before {value(before)}</small>}
    </span>
  );
  return { name, value: cell };
}

/** The cells of a row. */
export function Cells({ sums, measure, ...compared }: { sums: Sums; measure: Measure } & Compared) {
  return (
    <>
      {COLUMNS[measure].map(({ name, value }) => (
        <td key={name} class="num" data-label={name}>
          {value(sums, compared)}
        </td>
      ))}
    </>
  );
}
