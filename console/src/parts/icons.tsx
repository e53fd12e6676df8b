/** The icons: strokes on a field of 16 by 16. */
import "./icons.css";

function circle(x: number, y: number, r: number): string {
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
}

function box(x: number, y: number, w: number, h: number): string {
  return `M${x + 1} ${y}h${w - 2}a1 1 0 0 1 1 1v${h - 2}a1 1 0 0 1-1 1h${2 - w}a1 1 0 0 1-1-1v${2 - h}a1 1 0 0 1 1-1z`;
}

const PATHS = {
  responses: "M3 4.5h7.5M3 8h5M13 8.5H8.5M13 12H6",
  conversations: "M2.5 3.5h8v5.5h-4L4 11V9H2.5zM12.5 6.5h1v5.5H12v1.8L9.6 12H7.5",
  playground: "M5 3.2v9.6L12.5 8z",
  files: "M4 2.5h5l3 3v8H4zM9 2.5v3h3M6 8.5h4M6 11h4",
  containers: `${box(2.5, 3, 11, 10)}M5 6.5l2 1.8-2 1.8M8.5 10.2H11`,
  code: "m5.5 4.5-3.500 3.500 3.500 3.500M10.5 4.5 14 8l-3.500 3.500",
  stores: `${box(2.5, 2.5, 11, 3)}M3.5 5.5v8h9v-8M6.5 8.5h3`,
  download: "M8 2.5V10M4.5 6.5 8 10l3.5-3.5M3 13.5h10",
  backends: `${box(2.5, 3, 11, 4)}${box(2.5, 9, 11, 4)}M5 5h.01M5 11h.01`,
  usage: "M3 13V9M6.5 13V5M10 13V7.5M13.5 13V3",
  webhooks: `${circle(4.5, 11, 2)}${circle(11.5, 11, 2)}${circle(8, 4.5, 2)}M7 6.2 5.3 9.2M9 6.2l1.7 3M6.5 11h3`,
  keys: `${circle(5.5, 10.5, 2.7)}m5 -2 5-5M10.8 5.2l1.6 1.6`,
  conformance: "M8 2 3 4v4c0 3 2.1 5 5 6 2.9-1 5-3 5-6V4zM5.8 8l1.6 1.6L10.4 6.5",
  user: `${circle(8, 5.5, 2.5)}M3.5 13c.6-2.4 2.3-3.6 4.5-3.6s3.9 1.2 4.5 3.6`,
  theme: `${circle(8, 8, 2.6)}M8 2v1.2M8 12.8V14M2 8h1.2M12.8 8H14M3.8 3.8l.8.8M11.4 11.4l.8.8M12.2 3.8l-.8.8M4.6 11.4l-.8.8`,
  search: `${circle(7, 7, 4.2)}M10.2 10.2l3.3 3.3`,
  clock: `${circle(8, 8, 5.5)}M8 5v3.2l2 1.3`,
  unfold: "m5 6 3-3 3 3M5 10l3 3 3-3",
  fold: "m5 2.5 3 3 3-3M5 13.5l3-3 3 3M3 8h10",
  widen: "M2.5 8h11M5 5.5 2.5 8 5 10.5M11 5.5 13.5 8 11 10.5",
  down: "m4.5 6.5 3.5 3.5 3.5-3.5",
  pause: "M6 4v8M10 4v8",
  close: "m4.5 4.5 7 7M11.5 4.5l-7 7",
  plus: "M8 3.5v9M3.5 8h9",
  more: "M3 4.5h10M3 8h10M3 11.500h10",
  dots: "M4 8h.01M8 8h.01M12 8h.01",
  edit: "M3 13l.6-2.600 7.400-7.400 2 2-7.400 7.400zM9.500 4.500l2 2",
  copy: `${box(5.5, 5.5, 8, 8)}M3.5 10.5h-.3c-.4 0-.7-.3-.7-.7V3.200c0-.4.3-.7.7-.7h6.600c.4 0 .7.3.7.7v.3`,
  left: "M9.5 4 5.5 8l4 4",
  right: "m6.5 4 4 4-4 4",
  again: "M13 8a5 5 0 1 1-1.6-3.700M13 2.5v2.6h-2.6",
  compare: "M6 3H3v10h3M10 3h3v10h-3M8 2v12",
  fork: `${circle(4.5, 3.5, 1.5)}${circle(11.5, 3.5, 1.5)}${circle(8, 12.5, 1.5)}M4.5 5v1.200c0 1.2.8 1.8 2 1.8h3c1.2 0 2-.6 2-1.8V5M8 8v3`,
  thought: "M5.8 11.5h4.4M6.4 13.500h3.200M8 2.5a4 4 0 0 0-2.2 7.3v1.7h4.4V9.8A4 4 0 0 0 8 2.5z",
  tool: "M6 2.5v3M10 2.5v3M4.5 5.5h7V8a3.5 3.5 0 0 1-7 0zM8 11.5v2",
  web: `${circle(8, 8, 5.5)}M2.5 8h11M8 2.5c1.8 1.7 2.5 3.5 2.5 5.5S9.8 11.8 8 13.5C6.2 11.8 5.5 10 5.5 8S6.2 4.2 8 2.5`,
  answer: "M3 4.5h10v6H8.5L6 12.8v-2.3H3z",
  attach: "m12.5 7.5-4.7 4.7a2.6 2.6 0 0 1-3.7-3.700l5-5a1.8 1.8 0 0 1 2.5 2.5L6.8 10.8a.9.9 0 0 1-1.3-1.3l4.3-4.3",
  send: "M8 13V3.5M4 7.3l4-4 4 4",
  stop: box(4.5, 4.5, 7, 7),
  image: `${box(2.5, 3, 11, 10)}M2.5 11l3.5-3.5 3 3 1.5-1.5 3 3${circle(10.5, 6, 0.8)}`,
  help: `${circle(8, 8, 5.5)}M6.5 6.500c0-2 3-2 3 0 0 1.2-1.5 1.2-1.5 2.300M8 11h.01`,
  out: "M9.5 3.500H4v9h5.5M7 8h6.500M11 5.5 13.5 8 11 10.5",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** An icon, hidden from screen readers: text next to it or a label says the same. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of the project. */
export function Mark() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke-width="3" stroke-linecap="round">
      <path d="M10.5 3.5a8.5 8.5 0 0 0 0 13" stroke="currentColor" />
      <path d="M13.5 7.5a8.5 8.5 0 0 1 0 13" stroke="var(--accent-fill)" />
    </svg>
  );
}
