/** Looking again at what is in progress. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { access } from "../api/session.ts";

const FIRST = 1_000; // ms until the first look
const SLOWEST = 5_000; // ms between looks, in the end
const SLOWER = 1.3; // each wait is so many times the one before
const MOST_POLLS = 150; // some twelve minutes

const REFRESH = 5_000; // ms

/** Load again five seconds after each answer; `answers` change with it. Not in a hidden tab, nor signed out. */
export function useRefresh(reload: () => void, answers: readonly unknown[]): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer starts the next wait.
  useEffect(() => {
    let timer = setTimeout(function poll() {
      if (document.hidden || access.value.is !== "open") timer = setTimeout(poll, REFRESH);
      else reload();
    }, REFRESH);
    return () => clearTimeout(timer);
  }, [...answers]);
}

/** Whether polling ended before its condition was met, and how to continue. */
export interface Polling {
  isPaused: boolean;
  resume: () => void;
}

/** Call `poll` at growing distances as long as something is in progress; not in a hidden tab, and not forever. */
export function usePolling(isInProgress: boolean, poll: () => void): Polling {
  const isPaused = useSignal(false);
  const turn = useSignal(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: polling starts again with each turn.
  useEffect(() => {
    if (!isInProgress) return;
    let timer: ReturnType<typeof setTimeout>;
    const plan = (polls: number, wait: number) => {
      timer = setTimeout(() => {
        if (polls >= MOST_POLLS) {
          isPaused.value = true;
          return;
        }
        if (!document.hidden) poll();
        plan(polls + (document.hidden ? 0 : 1), Math.min(SLOWEST, wait * SLOWER));
      }, wait);
    };
    plan(0, FIRST);
    return () => clearTimeout(timer);
  }, [isInProgress, turn.value]);
  const resume = () => {
    isPaused.value = false;
    poll();
    turn.value += 1;
  };
  return { isPaused: isPaused.value && isInProgress, resume };
}
