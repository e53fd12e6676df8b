/** The list with its live updates, as the page shows it. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { sessions } from "../../api/session.ts";
import { type Displayed, Follower, type ListState } from "./follower.ts";
import { NO_ROWS, type Rows } from "./rows.ts";

/** The list, and what the reader can do with it. */
export interface LiveList extends Displayed {
  loadMore: () => void;
  /** Show the new rows that wait. */
  release: () => void;
  /** Try again now. */
  retry: () => void;
}

/** Follow the responses that match a filter line; while `isPaused`, nothing that is shown moves. */
export function useLiveList(line: string, isPaused: Signal<boolean>): LiveList {
  const rows = useSignal<Rows>(NO_ROWS);
  const state = useSignal<ListState>("loading");
  const error = useSignal<unknown>(undefined);
  const turn = useSignal(0);
  const follower = useRef<Follower | undefined>(undefined);
  const displayed = { rows, state, error, isPaused };
  // biome-ignore lint/correctness/useExhaustiveDependencies: signals stay; each turn and each session starts again.
  useEffect(() => {
    rows.value = NO_ROWS;
    state.value = "loading";
    error.value = undefined;
    const begun = new Follower(line, displayed);
    follower.current = begun;
    void begun.follow();
    return () => begun.end();
  }, [line, turn.value, sessions.value]);
  return {
    ...displayed,
    loadMore: () => void follower.current?.loadMore(),
    release: () => void follower.current?.release(),
    retry: () => {
      turn.value += 1;
    },
  };
}
