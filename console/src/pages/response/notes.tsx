/** Notes: what a reader should know of a response besides its output. */
import type { Details } from "../../api/types.ts";
import { prose } from "../../parts/prose.tsx";
import "./notes.css";

const TONES: Record<string, string> = {
  failover: "bad",
  error: "bad",
  retry: "warn",
  webhook_failed: "bad",
  webhook_pending: "warn",
  waits: "warn",
  ignored_tool: "warn",
  truncated: "warn",
};

/** The notes, each with its kind. */
export function Notes({ notes }: { notes: Details["notes"] }) {
  if (notes.length === 0) return null;
  const hasEnd = notes.some(({ code }) => code === "error"); // it has the cause of the last failure
  return (
    <section class="sheet" aria-label="Notes">
      <div class="head">
        <h2>Notes</h2>
      </div>
      <div class="notes">
        {notes
          .filter(({ code }) => !hasEnd || code !== "backend_failed")
          .map(({ code, text }) => (
            <p key={code + text}>
              <span class={`tag ${TONES[code] ?? "accent"}`}>{code.replaceAll("_", " ")}</span> {prose(text)}
            </p>
          ))}
      </div>
    </section>
  );
}
