/** The table of responses. */
import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ErrorNotice } from "../../parts/errors.tsx";
import { clock, count, plural } from "../../parts/format.ts";
import { isRunning } from "../../parts/status.tsx";
import { CHUNK, Chunk, chunksOf } from "./chunk.tsx";
import { EmptyList } from "./empty.tsx";
import type { LiveList } from "./live.ts";

const LEGEND = [
  ["queue", "queued"],
  ["wait", "first token"],
  ["answer", "output and tools"],
  ["failed", "failed"],
] as const;

interface Props {
  list: LiveList;
  line: string;
  selected: Signal<number>;
  onClear: () => void;
}

/** The rows, the button for new ones, and the button for more. */
export function ResponseTable({ list, line, selected, onClear }: Props) {
  const { visible, waiting, skipped, next, isPartial } = list.rows.value;
  const now = useNow(visible.some(isRunning));
  const longest = Math.max(1, ...visible.map(({ duration_ms }) => duration_ms ?? 0));
  const isEmpty = visible.length === 0 && list.state.value !== "loading" && !next;
  const newRows = waiting.length + skipped;
  if (list.error.value && visible.length === 0) return <ErrorNotice error={list.error.value} />;
  return (
    <>
      <section class="sheet list" aria-label="Responses" aria-busy={list.state.value === "loading"}>
        {newRows > 0 && (
          <button type="button" class="waiting-rows" onClick={list.release}>
            {count(newRows)} new
          </button>
        )}
        {isEmpty ? (
          <EmptyList line={line} onClear={onClear} />
        ) : (
          <table aria-rowcount={visible.length + 1}>
            <caption class="vh">Responses, the newest first; those that run are on top</caption>
            <Head />
            {chunksOf(visible).map((rows, at) => (
              <Chunk key={at} rows={rows} first={at * CHUNK} selected={selected.value} longest={longest} now={now} />
            ))}
          </table>
        )}
        {next && (
          <div class="more-rows">
            {isPartial && <span class="muted">{searchedBack(visible.at(-1)?.started_ms)}</span>}
            <button type="button" class="btn" onClick={list.loadMore}>
              {isPartial ? "Continue the search" : "Load more"}
            </button>
          </div>
        )}
      </section>
      <footer class="foot">
        <span class="wide">{plural(visible.length, "response")} shown</span>
        <span class="wide">
          <kbd>j</kbd>
          <kbd>k</kbd> move
        </span>
        <span class="wide">
          <kbd>↵</kbd> open
        </span>
        <span class="push" />
        {LEGEND.map(([name, text]) => (
          <span key={name} class="key">
            <i class={`b-${name}`} />
            {text}
          </span>
        ))}
      </footer>
    </>
  );
}

function Head() {
  return (
    <thead>
      <tr>
        <th class="c-status" scope="col">
          <span class="vh">Status</span>
        </th>
        <th class="c-started" scope="col">
          Started
        </th>
        <th class="c-text" scope="col">
          Input and output
        </th>
        <th class="c-model" scope="col">
          Model and backend
        </th>
        <th class="c-tools" scope="col">
          Tools
        </th>
        <th class="c-tokens" scope="col">
          Tokens
        </th>
        <th class="c-duration" scope="col">
          Duration
        </th>
        <th class="c-key" scope="col">
          Key
        </th>
      </tr>
    </thead>
  );
}

function searchedBack(oldest: number | undefined): string {
  return oldest === undefined ? "Nothing found so far." : `Searched back to ${clock(oldest)}, not further yet.`;
}

/** The time, renewed each second while something runs. */
function useNow(isTicking: boolean): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    return () => clearInterval(timer);
  }, [isTicking, now]);
  return now.value;
}
