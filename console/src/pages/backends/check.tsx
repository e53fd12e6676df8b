/** When a backend was checked, when it is checked next, and a button that checks it now. */
import { useSignal } from "@preact/signals";
import { session } from "../../api/session.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { duration } from "../../parts/format.ts";
import { announce } from "../../parts/live.tsx";
import { type Backend, checkBackend } from "./types.ts";

/** The line; only administrators have the button. */
export function Check({ backend, onChecked }: { backend: Backend; onChecked: () => void }) {
  const isRunning = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const check = async () => {
    isRunning.value = true;
    error.value = undefined;
    try {
      const { health } = await checkBackend(backend.name);
      announce(`${backend.name} was checked: ${health}.`);
      onChecked();
    } catch (reason) {
      error.value = reason;
    }
    isRunning.value = false;
  };
  return (
    <>
      <p class="row small muted">
        <span>{checkTimes(backend)}</span>
        {session().role === "admin" && (
          <button
            type="button"
            class="btn push"
            aria-label={`Check now: ${backend.name}`}
            disabled={isRunning.value}
            onClick={check}
          >
            {isRunning.value ? "Checking…" : "Check now"}
          </button>
        )}
      </p>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
    </>
  );
}

/** Return when a backend was checked, and when it is checked next, as words. */
export function checkTimes({ checked_ago, next_check }: Pick<Backend, "checked_ago" | "next_check">): string {
  const before = checked_ago === null ? "Not checked yet" : `Checked ${seconds(checked_ago)} ago`;
  const next = next_check === null ? "no periodic check" : `next check in ${seconds(next_check)}`;
  return `${before}, ${next}.`;
}

function seconds(time: number): string {
  return time < 100 ? `${Math.round(time)} s` : duration(time * 1000);
}
