/** The status of a response: a shape, a colour and the API's word for it. */
import type { Status } from "../api/types.ts";
import "./status.css";

const DISC = "M1 8a7 7 0 1 0 14 0a7 7 0 1 0-14 0";
const RING = "M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0";

interface Shape {
  tone: string;
  disc?: boolean;
  ring?: string;
  path?: string;
  wedge?: string;
}

const SHAPES: Record<Status, Shape> = {
  queued: { tone: "muted", ring: "dashed" },
  in_progress: { tone: "accent", ring: "faint", path: "M8 2a6 6 0 0 1 6 6" },
  completed: { tone: "good", disc: true, path: "m5.2 8.2 2 2 3.7-4.2" },
  incomplete: { tone: "warn", ring: "faint", wedge: "M8 2a6 6 0 0 1 4.3 10.2L8 8z" },
  failed: { tone: "bad", disc: true, path: "m5.9 5.9 4.2 4.2M10.1 5.9l-4.2 4.2" },
  cancelled: { tone: "muted", ring: "faint", path: "M5.5 8h5" },
};

const RUNNING: ReadonlySet<Status> = new Set(["queued", "in_progress"]);

/** Whether a response has not ended. */
export function isRunning({ status }: { status: Status }): boolean {
  return RUNNING.has(status);
}

/** Return the word for a status, with spaces. */
export function statusWord(status: Status): string {
  return status.replace("_", " ");
}

/** The shape of a status; screen readers read its word. */
export function StatusIcon({ status }: { status: Status }) {
  const shape = SHAPES[status] ?? SHAPES.cancelled;
  return (
    <svg
      class={`status tone-${shape.tone} status-${status}`}
      viewBox="0 0 16 16"
      role="img"
      aria-label={statusWord(status)}
    >
      <title>{statusWord(status)}</title>
      {shape.disc && <path class="status-disc" d={DISC} />}
      {shape.ring && <path class={`status-${shape.ring}`} d={RING} />}
      {shape.wedge && <path class="status-wedge" d={shape.wedge} />}
      {shape.path && <path class="status-arc" d={shape.path} />}
    </svg>
  );
}
