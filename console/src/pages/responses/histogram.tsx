/** Responses over time by status; a drag, or the keyboard, chooses a time. */
import { useSignal } from "@preact/signals";
import type { Figures, Status } from "../../api/types.ts";
import { clock, count, plural, shortDate } from "../../parts/format.ts";
import { statusWord } from "../../parts/status.tsx";
import { wallClock } from "../../parts/zone.ts";
import "./histogram.css";

const HEIGHT = 84;
const LAYERS: readonly (readonly Status[])[] = [
  ["completed"],
  ["incomplete", "cancelled"],
  ["failed"],
  ["queued", "in_progress"],
];
const NAMES = ["completed", "incomplete", "failed", "running"] as const;
const TICKS = [0, 1, 2, 3, 4, 5, 6];

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

/** Return what the columns from `first` to `last` hold: their time, and their responses by status. */
export function valuesOf({ buckets, since, step }: Figures, first: number, last: number): string {
  const [from, to] = [since + first * step, since + (last + 1) * step];
  const inside = buckets.filter(({ time }) => time >= from && time < to);
  const statuses = LAYERS.flat().flatMap((status) => {
    const sum = inside.reduce((all, { by_status }) => all + (by_status[status] ?? 0), 0);
    return sum > 0 ? [`${count(sum)} ${statusWord(status)}`] : [];
  });
  const time = `${clock(from * 1000).replace(/(\d\d:\d\d):00$/, "$1")} – ${wallClock(to * 1000).slice(11, 16)}`;
  return [time, ...(statuses.length > 0 ? statuses : ["no responses"])].join(" · ");
}

interface Props {
  found: Figures | undefined;
  onChoose: (since: number, until: number) => void;
}

/** The columns that are looked at: the one where it began, and where the pointer or the keyboard is. */
interface Columns {
  from: number;
  to: number;
}

/** The histogram; what is looked at is said in words, and a drag or Enter chooses its time. */
export function Histogram({ found, onChoose }: Props) {
  const columns = useSignal<Columns | undefined>(undefined);
  const isDragging = useSignal(false);
  if (!found) return <div class="histogram" />;
  const { since, until, step, totals } = found;
  const last = Math.max(0, Math.ceil((until - since) / step) - 1);
  const columnAt = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    return Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * (last + 1))));
  };
  const [first, end] = columns.value
    ? [Math.min(columns.value.from, columns.value.to), Math.max(columns.value.from, columns.value.to)]
    : [0, last];
  const choose = () => {
    isDragging.value = false;
    if (columns.value) onChoose(since + first * step, since + (end + 1) * step);
    columns.value = undefined;
  };
  const point = (event: PointerEvent) => {
    const to = columnAt(event);
    if (to === columns.value?.to) return;
    columns.value = { from: isDragging.value ? (columns.value?.from ?? to) : to, to };
  };
  const leave = () => {
    if (!isDragging.value) columns.value = undefined;
  };
  const press = (event: KeyboardEvent) => {
    const to = stepTo(event.key, columns.value?.to, last);
    if (to !== undefined) columns.value = { from: event.shiftKey ? (columns.value?.from ?? to) : to, to };
    else if (event.key === "Enter" && columns.value) choose();
    else if (event.key === "Escape" && columns.value) columns.value = undefined;
    else return;
    event.preventDefault();
  };
  const labels = TICKS.map((at) => label(since + (at * (until - since)) / 6, until - since));
  const words = columns.value ? valuesOf(found, first, end) : "";
  const all = `${plural(totals.responses, "response")}, ${totals.by_status.failed ?? 0} failed`;
  return (
    <div class="histogram">
      <p class="histogram-values" aria-hidden="true">
        {words || "\u00a0"}
      </p>
      <div
        class="histogram-bars"
        role="slider"
        tabIndex={0}
        aria-label={`Histogram from ${clock(since * 1000)} to ${clock(until * 1000)}. Arrows read it, Shift extends, Enter chooses`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={columns.value?.to ?? 0}
        aria-valuetext={words || all}
        onKeyDown={press}
        onBlur={leave}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          isDragging.value = true;
          columns.value = { from: columnAt(event), to: columnAt(event) };
        }}
        onPointerMove={point}
        onPointerUp={choose}
        onPointerLeave={leave}
        onPointerCancel={() => {
          isDragging.value = false;
          columns.value = undefined;
        }}
      >
        <svg viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {barsOf(found).map(({ x, width, y, height, name }) => (
            <rect
              key={`${x} ${name}`}
              class={`histogram-${name}`}
              x={x * 1000}
              y={y}
              width={Math.max(1, width * 1000 - 1.5)}
              height={height}
            />
          ))}
          {columns.value && (
            <rect
              class="histogram-chosen"
              x={(first / (last + 1)) * 1000}
              y={0}
              width={((end + 1 - first) / (last + 1)) * 1000}
              height={HEIGHT}
            />
          )}
        </svg>
      </div>
      <div class="ticks" aria-hidden="true">
        {TICKS.map((at) => (
          <span key={at}>{labels[at] === labels[at - 1] ? "" : labels[at]}</span>
        ))}
      </div>
    </div>
  );
}

/** Return the column that a key leads to. */
function stepTo(key: string, at: number | undefined, last: number): number | undefined {
  const steps: Record<string, number> = {
    ArrowLeft: (at ?? last + 1) - 1,
    ArrowRight: (at ?? -1) + 1,
    Home: 0,
    End: last,
  };
  const to = steps[key];
  return to === undefined ? undefined : Math.min(last, Math.max(0, to));
}

function label(time: number, length: number): string {
  return length > 2 * 86_400 ? shortDate(time * 1000) : wallClock(time * 1000).slice(11, 16);
}
