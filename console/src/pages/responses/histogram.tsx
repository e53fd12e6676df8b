/** Responses over time by status; brushing chooses a time. */
import { useSignal } from "@preact/signals";
import type { Figures, Status } from "../../api/types.ts";
import { clock, plural } from "../../parts/format.ts";

const HEIGHT = 84;
const LAYERS: readonly (readonly Status[])[] = [
  ["completed"],
  ["incomplete", "cancelled"],
  ["failed"],
  ["queued", "in_progress"],
];
const NAMES = ["completed", "incomplete", "failed", "running"] as const;

/** A bar of the histogram, as shares of its width and in pixels of its height. */
export interface Bar {
  x: number;
  width: number;
  y: number;
  height: number;
  name: (typeof NAMES)[number];
}

/** Return the bars of figures: one column a step, one layer a kind of status, 2 px at least for what exists. */
export function barsOf({ buckets, since, until, step }: Figures): Bar[] {
  const most = Math.max(1, ...buckets.map(({ responses }) => responses));
  const width = step / (until - since);
  return buckets.flatMap(({ time, by_status }) => {
    let top = HEIGHT;
    return LAYERS.flatMap((statuses, at): Bar[] => {
      const value = statuses.reduce((sum, status) => sum + (by_status[status] ?? 0), 0);
      if (value === 0) return [];
      const height = Math.max(2, (value / most) * (HEIGHT - 4));
      top -= height;
      return [
        { x: (time - since) / (until - since), width, y: Math.max(0, top), height, name: NAMES[at] ?? "completed" },
      ];
    });
  });
}

interface Props {
  found: Figures | undefined;
  onChoose: (since: number, until: number) => void;
}

/** The histogram; a drag over it chooses a time, in whole steps. */
export function Histogram({ found, onChoose }: Props) {
  const chosen = useSignal<{ from: number; to: number } | undefined>(undefined);
  if (!found) return <div class="histogram" />;
  const { since, until, step, totals } = found;
  const share = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const start = (event: PointerEvent) => {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    chosen.value = { from: share(event), to: share(event) };
  };
  const move = (event: PointerEvent) => {
    if (chosen.value) chosen.value = { ...chosen.value, to: share(event) };
  };
  const end = () => {
    const range = chosen.value;
    chosen.value = undefined;
    if (!range) return;
    const [a, b] = [Math.min(range.from, range.to), Math.max(range.from, range.to)];
    const from = since + Math.floor((a * (until - since)) / step) * step;
    onChoose(from, Math.max(from + step, since + Math.ceil((b * (until - since)) / step) * step));
  };
  const box = chosen.value;
  return (
    <div class="histogram">
      <svg
        viewBox={`0 0 1000 ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${plural(totals.responses, "response")} from ${clock(since * 1000)} to ${clock(until * 1000)}, ${totals.by_status.failed ?? 0} failed`}
        onPointerDown={start}
        onPointerMove={move}
        onPointerUp={end}
        onPointerCancel={() => {
          chosen.value = undefined;
        }}
      >
        {barsOf(found).map(({ x, width, y, height, name }) => (
          <rect
            key={`${x} ${name}`}
            class={`h-${name}`}
            x={x * 1000}
            y={y}
            width={Math.max(1, width * 1000 - 1.5)}
            height={height}
          />
        ))}
        {box && (
          <rect
            class="h-chosen"
            x={Math.min(box.from, box.to) * 1000}
            y={0}
            width={Math.max(1, Math.abs(box.to - box.from) * 1000)}
            height={HEIGHT}
          />
        )}
      </svg>
      <div class="ticks" aria-hidden="true">
        {ticksOf(since, until).map((time) => (
          <span key={time}>{label(time, until - since)}</span>
        ))}
      </div>
    </div>
  );
}

function ticksOf(since: number, until: number): number[] {
  return [0, 1, 2, 3, 4, 5, 6].map((at) => since + (at * (until - since)) / 6);
}

function label(time: number, length: number): string {
  const when = new Date(time * 1000);
  if (length > 2 * 86_400) return when.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  return when.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
}
