/** Small charts: a line of values, and bars. */

const WIDTH = 240;
const HEIGHT = 40;

/** Return the points of a line through values; a missing value interrupts it. */
export function pathOf(values: readonly (number | null)[], most: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  let isDown = false;
  return values
    .map((value, at) => {
      if (value === null) {
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

/** A line of values over time; `words` say what it shows. */
export function Sparkline({
  values,
  words,
  tone = "answer",
}: {
  values: readonly (number | null)[];
  words: string;
  tone?: string;
}) {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  return (
    <svg
      class={`spark spark-${tone}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words}
    >
      <title>{words}</title>
      <path d={pathOf(values, most)} />
    </svg>
  );
}
