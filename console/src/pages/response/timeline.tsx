/** The timeline as a table: each row is a span with its bar, and dragging over the axis zooms. */
import { useSignal } from "@preact/signals";
import type { Details } from "../../api/types.ts";
import { duration } from "../../parts/format.ts";
import { type Mark, type TimelineRow, ticksOf, timelineOf } from "./timeline.ts";

const MOST_TICKS = 100; // of one row

const LEGEND = [
  ["queue", "queued"],
  ["wait", "first token"],
  ["reasoning", "reasoning"],
  ["answer", "output"],
  ["tool", "tools"],
  ["failed", "failed"],
] as const;

const WORDS = {
  queue: "queued",
  wait: "until the first token",
  reasoning: "reasoning",
  answer: "output",
  tool: "tool",
  failed: "failed",
  now: "running",
};

interface Range {
  from: number;
  to: number;
}

/** The timeline; `now` is the time in ms since the epoch, for what still runs. */
export function TimelineTable({ details, now }: { details: Details; now: number }) {
  const { rows, total, marks } = timelineOf(details, now);
  const zoom = useSignal<Range | undefined>(undefined);
  const view = zoom.value ?? { from: 0, to: total };
  const share = (ms: number) => (ms - view.from) / (view.to - view.from);
  if (rows.length === 0) return null;
  return (
    <section class="sheet timeline" aria-label="Timeline">
      <div class="head">
        <h2>Timeline</h2>
        {zoom.value && (
          <button type="button" class="btn bare" onClick={() => (zoom.value = undefined)}>
            Show all
          </button>
        )}
        <div class="legend">
          {LEGEND.map(([name, text]) => (
            <span key={name} class="key">
              <i class={`b-${name}`} />
              {text}
            </span>
          ))}
        </div>
      </div>
      <table>
        <caption class="vh">What the time of this response went into, in {duration(total)}</caption>
        <thead>
          <tr class="axis" style={{ "--rows": String(rows.length) }}>
            <th scope="col">
              <span class="vh">Step</span>
            </th>
            <th scope="col" class="track">
              <span class="vh">Time</span>
              <Axis view={view} share={share} onZoom={(range) => (zoom.value = range)} />
              {marks
                .filter(({ at }) => inside(share(at)))
                .map(({ name, at }, place) => (
                  <span
                    key={name}
                    class={`mark${share(at) > 0.8 || isBefore(place, marks, share) ? " before" : ""}`}
                    style={{ "--x": percent(share(at)) }}
                  >
                    <span>{name}</span>
                  </span>
                ))}
            </th>
            <th scope="col">
              <span class="vh">Duration</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <SpanRow key={`${at} ${row.name}`} row={row} share={share} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface AxisProps {
  view: Range;
  share: (ms: number) => number;
  onZoom: (range: Range) => void;
}

function Axis({ view, share, onZoom }: AxisProps) {
  const brush = useSignal<Range | undefined>(undefined);
  const at = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    return view.from + Math.min(1, Math.max(0, (event.clientX - left) / width)) * (view.to - view.from);
  };
  const start = (event: PointerEvent) => {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    brush.value = { from: at(event), to: at(event) };
  };
  const end = () => {
    const range = brush.value;
    brush.value = undefined;
    if (!range) return;
    const [from, to] = [Math.min(range.from, range.to), Math.max(range.from, range.to)];
    if (to - from > (view.to - view.from) / 200) onZoom({ from, to });
  };
  const chosen = brush.value;
  return (
    <div
      class="axis-brush"
      aria-hidden="true"
      title="Drag to zoom"
      onPointerDown={start}
      onPointerMove={(event) => {
        if (brush.value) brush.value = { ...brush.value, to: at(event) };
      }}
      onPointerUp={end}
    >
      {ticksOf(view.from, view.to).map((ms) => (
        <b key={ms} style={{ "--x": percent(share(ms)) }}>
          {tick(ms)}
        </b>
      ))}
      {chosen && (
        <span
          class="brush"
          style={{
            "--x": percent(share(Math.min(chosen.from, chosen.to))),
            "--w": percent(Math.abs(share(chosen.to) - share(chosen.from))),
          }}
        />
      )}
    </div>
  );
}

function SpanRow({ row, share }: { row: TimelineRow; share: (ms: number) => number }) {
  const [from, to] = [Math.max(0, share(row.start)), Math.min(1, share(row.end))];
  const isVisible = to >= 0 && from <= 1;
  return (
    <tr class={row.isNested ? "span sub" : "span"} title={wordsOf(row)}>
      <th scope="row">
        {row.error && <span class="tag bad">{row.error}</span>}
        <em>{row.name}</em>
        <small>{row.detail}</small>
      </th>
      <td class="track">
        <span class="vh">{wordsOf(row)}</span>
        {isVisible && (
          <span
            class="block"
            aria-hidden="true"
            style={{ "--x": percent(from), "--w": percent(Math.max(0, to - from)) }}
          >
            {row.parts.map(({ name, ms }, at) => (
              <i key={`${at} ${name}`} class={`b-${name}`} style={{ "--f": String(ms) }} />
            ))}
          </span>
        )}
        {row.events
          .slice(0, MOST_TICKS)
          .filter(({ at }) => inside(share(at)))
          .map(({ name, at }) => (
            <span
              key={`${at} ${name}`}
              class="tick"
              aria-hidden="true"
              title={`${name} begins at ${duration(at)}`}
              style={{ "--x": percent(share(at)) }}
            />
          ))}
      </td>
      <td class="dur">{duration(row.end - row.start)}</td>
    </tr>
  );
}

/** Return a row in words, for screen readers and tooltips. */
export function wordsOf(row: TimelineRow): string {
  const parts = row.parts.map(({ name, ms }) => `${WORDS[name]} ${duration(ms)}`).join(", ");
  const what = `${row.name}, ${row.detail ? `${row.detail}, ` : ""}from ${duration(row.start)}: ${parts || "no time"}`;
  const items = row.events.length > 0 ? `; items: ${row.events.map(({ name }) => name).join(", ")}` : "";
  return `${what}${row.error && `, error ${row.error}`}${items}`;
}

/** Whether the label of a mark stands before it, because the next mark is close behind. */
function isBefore(place: number, marks: readonly Mark[], share: (ms: number) => number): boolean {
  const [here, next] = [marks[place], marks[place + 1]];
  return here !== undefined && next !== undefined && share(next.at) - share(here.at) < 0.1 && share(here.at) > 0.1;
}

function inside(share: number): boolean {
  return share >= 0 && share <= 1;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)}%`;
}

function tick(ms: number): string {
  return ms === 0 ? "0 s" : ms < 1000 ? `${+ms.toFixed(2)} ms` : `${+(ms / 1000).toFixed(2)} s`;
}
