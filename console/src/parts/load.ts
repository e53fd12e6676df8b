/** Data of a page: loading, loaded, or the error. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { sessions } from "../api/session.ts";

/** What is known of data that a request loads. */
export interface Loaded<T> {
  data: T | undefined;
  error: unknown;
  reload: () => void;
}

/** Load data whenever one of `inputs` changes or a session begins; what was loaded before stays until then. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const data: Signal<T | undefined> = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const turn = useSignal(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the caller names what `load` depends on.
  useEffect(() => {
    const control = new AbortController();
    error.value = undefined;
    load(control.signal).then(
      (found) => {
        if (!control.signal.aborted) data.value = found;
      },
      (reason) => {
        if (!control.signal.aborted) error.value = reason;
      },
    );
    return () => control.abort();
  }, [...inputs, turn.value, sessions.value]);
  return { data: data.value, error: error.value, reload: () => turn.value++ };
}
