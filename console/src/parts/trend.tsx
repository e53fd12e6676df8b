/** Small charts of values over time that share an axis: each has its unit, its highest value, and what each step was. */
import { useSignal } from "@preact/signals";
import "./trend.css";

const WIDTH = 240;
const HEIGHT = 32;

/** One line of a chart: `undefined` where a step has no value. */
export interface Trend {
  label: string;
  /** What all steps together are, with their unit. */
  total: string;
  tone: "wait" | "answer" | "failed";
  values: readonly (number | undefined)[];
  /** A value with its unit. */
  shown: (value: number) => string;
}

/** Return the points of a line through values; a missing value interrupts it. */
export function pathOf(values: readonly (number | undefined)[], most: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  let isDown = false;
  return values
    .map((value, at) => {
      if (value === undefined) {
        isDown = false;
        return "";
      }
      const move = isDown ? "L" : "M";
      isDown = true;
      const y = HEIGHT - 2 - (value / Math.max(most, 1e-9)) * (HEIGHT - 4);
      return `${move}${(at * step).toFixed(1)} ${y.toFixed(1)}${move === "M" ? "h.01" : ""}`;
    })
    .join("");
}

interface Props {
  trends: readonly Trend[];
  /** The time of each step, in words. */
  times: readonly string[];
  /** What the first and the last step are, in words. */
  from: string;
  to: string;
}

/** The charts, one below the other; pointing at a step, or the arrow keys, show its values. */
export function Trends({ trends, times, from, to }: Props) {
  const chosen = useSignal<number | undefined>(undefined);
  const at = chosen.value;
  const choose = (place: number | undefined) => {
    chosen.value = place === undefined ? undefined : Math.max(0, Math.min(times.length - 1, place));
  };
  const point = (event: PointerEvent & { currentTarget: Element }) => {
    const box = event.currentTarget.getBoundingClientRect();
    choose(Math.round(((event.clientX - box.left) / box.width) * (times.length - 1)));
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    choose((at ?? (step < 0 ? times.length : -1)) + step);
  };
  return (
    <div class="trends">
      {trends.map((trend) => {
        const most = mostOf(trend);
        const words = `${trend.label}: ${trend.total}${most === undefined ? "" : `, at most ${trend.shown(most)} in a step`}`;
        return (
          <figure key={trend.label} class="trend">
            <figcaption>
              {trend.label} <b>{trend.total}</b>
            </figcaption>
            <svg
              class={`trend-line trend-${trend.tone}`}
              viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
              preserveAspectRatio="none"
              role="img"
              aria-label={words}
              onPointerMove={point}
              onPointerLeave={() => choose(undefined)}
            >
              <path d={pathOf(trend.values, most ?? 0)} />
              {at !== undefined && (
                <path class="trend-step" d={`M${(at * WIDTH) / Math.max(1, times.length - 1)} 0V${HEIGHT}`} />
              )}
            </svg>
            <small class="trend-most">{most === undefined ? "no values" : `max ${trend.shown(most)}`}</small>
          </figure>
        );
      })}
      <div
        class="trend-axis"
        role="slider"
        tabIndex={0}
        aria-label="Step"
        aria-valuemin={0}
        aria-valuemax={times.length - 1}
        aria-valuenow={at ?? times.length - 1}
        aria-valuetext={at === undefined ? `From ${from} to ${to}` : stepOf(trends, times, at)}
        onKeyDown={move}
        onBlur={() => choose(undefined)}
      >
        {at === undefined ? (
          <>
            <span>{from}</span>
            <span>{to}</span>
          </>
        ) : (
          <span>{stepOf(trends, times, at)}</span>
        )}
      </div>
    </div>
  );
}

function mostOf({ values }: Trend): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

function stepOf(trends: readonly Trend[], times: readonly string[], at: number): string {
  const parts = trends.map(({ label, values, shown }) => {
    const value = values[at];
    return `${label.toLowerCase()} ${value === undefined ? "—" : shown(value)}`;
  });
  return `${times[at]}: ${parts.join(", ")}`;
}
