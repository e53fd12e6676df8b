/** The last hour of one backend: how many responses, and how they went. */
import { serverNow } from "../../api/clock.ts";
import { figures } from "../../api/responses.ts";
import type { Figures } from "../../api/types.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { quoted } from "../../parts/filter_value.ts";
import { count, duration, minute, percent } from "../../parts/format.ts";
import { useLoad } from "../../parts/load.ts";
import { type Trend, Trends } from "../../parts/trend.tsx";
import "./last_hour.css";

const HOUR = 3_600; // s
const STEP = 120; // s of a point of a line

/** The figures of the responses that began within the last hour, and that this backend served last. */
export function LastHour({ name }: { name: string }) {
  const { data, error, reload } = useLoad(
    (signal) => {
      const until = Math.ceil(serverNow() / 1000 / STEP) * STEP;
      return figures({ q: `backend:${quoted(name)}`, since: until - HOUR, until, step: STEP }, signal);
    },
    [name],
  );
  if (!data) return error === undefined ? null : <ErrorNotice error={error} onRetry={reload} />;
  const { responses } = data.totals;
  const steps = everyStep(data);
  return (
    <div class="last-hour">
      <h3>Last hour</h3>
      <p class="small muted">
        Responses that began in this hour and ended here: <b>{count(responses)}</b>. A failed call that another backend
        made good is not counted.
      </p>
      {responses > 0 && (
        <Trends
          trends={LINES.map((line) => ({ ...line, total: line.total(data), values: steps.map(line.value) }))}
          times={steps.map((_, at) => minute((data.since + at * data.step) * 1000))}
          from={minute(data.since * 1000)}
          to={minute(data.until * 1000)}
        />
      )}
    </div>
  );
}

type Bucket = Figures["buckets"][number] | undefined;

/** Return a bucket for each step: the server omits those without responses. */
function everyStep({ buckets, since, until, step }: Figures): Bucket[] {
  const known = new Map(buckets.map((bucket) => [bucket.time, bucket]));
  return Array.from({ length: (until - since) / step }, (_, at) => known.get(since + at * step));
}

interface Line extends Pick<Trend, "label" | "tone" | "shown"> {
  total: (found: Figures) => string;
  value: (bucket: Bucket) => number | undefined;
}

const LINES: readonly Line[] = [
  {
    label: "First token, p50",
    tone: "wait",
    shown: (ms) => duration(ms),
    value: (bucket) => bucket?.first_token_ms?.p50,
    total: ({ totals }) => duration(totals.first_token_ms?.p50),
  },
  {
    label: "Output",
    tone: "answer",
    shown: (tokens) => `${count(tokens)} tokens`,
    value: (bucket) => bucket?.output_tokens ?? 0,
    total: ({ totals }) => `${count(totals.output_tokens)} tokens`,
  },
  {
    label: "Failed",
    tone: "failed",
    shown: (failed) => count(failed),
    value: (bucket) => bucket?.by_status.failed ?? 0,
    total: ({ totals }) => {
      const failed = totals.by_status.failed ?? 0;
      return `${count(failed)}, ${percent(failed, totals.responses)}`;
    },
  },
];
