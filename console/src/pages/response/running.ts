/** Following a response until it ends. */
import { useEffect } from "preact/hooks";
import type { Details } from "../../api/types.ts";
import type { Loaded } from "../../parts/load.ts";
import { isRunning } from "../../parts/status.tsx";

const REFRESH = 1_500; // ms between looks at a response that runs

/** Load a response again while it runs; returns whether it does. */
export function useWhileRunning({ data, error, reload }: Loaded<Details>): boolean {
  const running = data !== undefined && isRunning(data.summary);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer, also an error, starts the next wait.
  useEffect(() => {
    if (!running) return;
    const timer = setTimeout(reload, REFRESH);
    return () => clearTimeout(timer);
  }, [data, error, running]);
  return running;
}
