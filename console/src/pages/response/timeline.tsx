/** The timeline as a table: each row is a span with its bar, and dragging over the axis zooms. */
import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Details } from "../../api/types.ts";
import { duration } from "../../parts/format.ts";
import { useWidth } from "../../parts/width.ts";
import { placedMarks, type TimelineRow, ticksOf, timelineOf } from "./timeline.ts";
import "./timeline.css";

const MOST_TICKS = 100; // of one row
const TICK = 44; // px that a tick of the axis needs for its label

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

/** A part of the time, in ms. */
export interface Range {
  from: number;
  to: number;
}

interface Props {
  details: Details;
  /** The time in ms since the epoch, for what still runs. */
  now: number;
  title?: string;
  /** The length of the axis in ms, and the part of it that is shown, where several timelines share them. */
  scale?: number;
  zoom?: Signal<Range | undefined>;
}

/** The timeline. */
export function TimelineTable({ details, now, title = "Timeline", scale, zoom: shared }: Props) {
  const { rows, total, marks } = timelineOf(details, now);
  const own = useSignal<Range | undefined>(undefined);
  const zoom = shared ?? own;
  const track = useRef<HTMLTableCellElement>(null);
  const width = useWidth(track);
  const view = zoom.value ?? { from: 0, to: scale ?? total };
  const share = (ms: number) => (ms - view.from) / (view.to - view.from);
  const placed = placedMarks(
    marks.filter(({ at }) => inside(share(at))),
    share,
    width,
  );
  const hasTwo = placed.some(({ row }) => row > 0);
  const axis = ["timeline-axis", placed.length > 0 && "has-marks", hasTwo && "has-two"].filter(Boolean).join(" ");
  if (rows.length === 0) return null;
  return (
    <section class="sheet timeline" aria-label={title}>
      <div class="head">
        <h2>{title}</h2>
        {zoom.value && (
          <button type="button" class="btn bare" onClick={() => (zoom.value = undefined)}>
            Show all
          </button>
        )}
        <div class="legend">
          {LEGEND.map(([name, text]) => (
            <span key={name} class="legend-key">
              <i class={`time-${name}`} />
              {text}
            </span>
          ))}
        </div>
      </div>
      <table>
        <caption class="visually-hidden">What the time of this response went into, in {duration(total)}</caption>
        <thead>
          <tr class={axis} style={{ "--rows": String(rows.length) }}>
            <th scope="col">
              <span class="visually-hidden">Step</span>
            </th>
            <th scope="col" class="span-track" ref={track}>
              <span class="visually-hidden">Time</span>
              <Axis
                view={view}
                share={share}
                most={Math.floor(width / TICK)}
                onZoom={(range) => (zoom.value = range)}
              />
              {placed.map(({ name, x, isBefore, row }) => (
                <span
                  key={name}
                  class={`timeline-mark${isBefore ? " before" : ""}${row > 0 ? " low" : ""}`}
                  style={{ "--x": percent(x) }}
                >
                  <span>{name}</span>
                </span>
              ))}
            </th>
            <th scope="col">
              <span class="visually-hidden">Duration</span>
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
  /** So many labels fit. */
  most: number;
  onZoom: (range: Range) => void;
}

function Axis({ view, share, most, onZoom }: AxisProps) {
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
      class="timeline-axis-brush"
      aria-hidden="true"
      title="Drag to zoom"
      onPointerDown={start}
      onPointerMove={(event) => {
        if (brush.value) brush.value = { ...brush.value, to: at(event) };
      }}
      onPointerUp={end}
    >
      {ticksOf(view.from, view.to, Math.min(9, most)).map((ms) => (
        <b key={ms} style={{ "--x": percent(share(ms)) }}>
          {tick(ms)}
        </b>
      ))}
      {chosen && (
        <span
          class="timeline-brush"
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
    <tr class={row.isNested ? "timeline-span nested" : "timeline-span"} title={wordsOf(row)}>
      <th scope="row">
        {row.error && <span class="tag bad">{row.error}</span>}
        <em>{row.name}</em>
        <small>{row.detail}</small>
      </th>
      <td class="span-track">
        <span class="visually-hidden">{wordsOf(row)}</span>
        {isVisible && (
          <span
            class="span-block"
            aria-hidden="true"
            style={{ "--x": percent(from), "--w": percent(Math.max(0, to - from)) }}
          >
            {row.parts.map(({ name, ms }, at) => (
              <i key={`${at} ${name}`} class={`time-${name}`} style={{ "--f": String(ms) }} />
            ))}
          </span>
        )}
        {row.events
          .slice(0, MOST_TICKS)
          .filter(({ at }) => inside(share(at)))
          .map(({ name, at }) => (
            <span
              key={`${at} ${name}`}
              class="span-tick"
              aria-hidden="true"
              title={`${name} begins at ${duration(at)}`}
              style={{ "--x": percent(share(at)) }}
            />
          ))}
      </td>
      <td class="span-duration">{duration(row.end - row.start)}</td>
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

function inside(share: number): boolean {
  return share >= 0 && share <= 1;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)}%`;
}

function tick(ms: number): string {
  return ms === 0 ? "0 s" : ms < 1000 ? `${+ms.toFixed(2)} ms` : `${+(ms / 1000).toFixed(2)} s`;
}
