/** The table of responses. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { serverNow } from "../../api/clock.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { clock, count, duration, plural } from "../../parts/format.ts";
import { Loading } from "../../parts/loading.tsx";
import { comparePath } from "../../parts/paths.ts";
import { Link } from "../../parts/router.tsx";
import { isRunning } from "../../parts/status.tsx";
import { seesTenants } from "../../parts/tenant.tsx";
import "./list.css";
import { CHUNK, Chunk, chunksOf } from "./chunk.tsx";
import { EmptyList } from "./empty.tsx";
import type { LiveList } from "./live.ts";
import { ORDERS, orderOf } from "./order.ts";
import type { Rows } from "./rows.ts";

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
  picked: Signal<readonly string[]>;
  onChange: (line: string) => void;
}

/** The rows, the button for new ones, and the button for more. */
export function ResponseTable({ list, line, selected, picked, onChange }: Props) {
  const { visible, waiting, next, isPartial } = list.rows.value;
  const now = useNow(visible.some(isRunning));
  const longest = Math.max(1, ...visible.map(({ duration_ms }) => duration_ms ?? 0));
  const isLoading = list.state.value === "loading";
  if (visible.length === 0 && !isLoading && list.error.value) {
    if (list.state.value === "rejected") return <ErrorNotice error={list.error.value} />;
    return <ErrorNotice error={list.error.value} next="The page tries again automatically." onRetry={list.retry} />;
  }
  return (
    <>
      <section class="sheet list" aria-label="Responses" aria-busy={isLoading}>
        <NewRows waiting={waiting} onShow={list.release} />
        {isLoading && visible.length === 0 ? (
          <Loading data={undefined} pad />
        ) : visible.length === 0 && !next ? (
          <EmptyList line={line} onChange={onChange} />
        ) : (
          <table aria-rowcount={visible.length + 1}>
            <caption class="visually-hidden">
              Responses: {ORDERS[orderOf(line)].toLowerCase()}; those that run are on top
            </caption>
            <Head />
            {chunksOf(visible).map((rows, at) => (
              <Chunk
                key={at}
                rows={rows}
                first={at * CHUNK}
                selected={selected.value}
                longest={longest}
                now={now}
                picked={picked}
              />
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
        {!isLoading && <span class="wide">{plural(visible.length, "response")} shown</span>}
        <span class="wide">
          <kbd>j</kbd>
          <kbd>k</kbd> move
        </span>
        <span class="wide">
          <kbd>↵</kbd> open
        </span>
        <span class="push" />
        <span>Bars: square root of the duration, up to {duration(longest)}</span>
        {LEGEND.map(([name, text]) => (
          <span key={name} class="legend-key">
            <i class={`time-${name}`} />
            {text}
          </span>
        ))}
      </footer>
      <Compare picked={picked} rows={visible} />
    </>
  );
}

/** The button that shows new rows; without a number where the page does not know how many there are. */
function NewRows({ waiting: { ids, hasMore }, onShow }: Pick<Rows, "waiting"> & { onShow: () => void }) {
  if (ids.size === 0 && !hasMore) return null;
  return (
    <button type="button" class="waiting-rows" onClick={onShow}>
      {ids.size > 0 ? `${count(ids.size)}${hasMore ? "+" : ""} new` : "New responses"}
    </button>
  );
}

/** What can be done with the rows that are chosen: the older one is A, whichever was chosen first. */
function Compare({ picked, rows }: { picked: Signal<readonly string[]>; rows: Rows["visible"] }) {
  const started = (id: string) => rows.find((row) => row.id === id)?.started_ms ?? 0;
  const [a, b] = picked.value.toSorted((one, other) => started(one) - started(other));
  if (!a) return null;
  const clear = () => {
    picked.value = [];
  };
  return (
    <div class="compare-bar sheet" role="status">
      {b ? (
        <Link to={comparePath(a, b)} class="btn first">
          Compare
        </Link>
      ) : (
        "Choose another response to compare"
      )}
      <button type="button" class="btn bare" onClick={clear}>
        Clear
      </button>
    </div>
  );
}

function Head() {
  return (
    <thead>
      <tr>
        <th class="column-status" scope="col">
          <span class="visually-hidden">Status</span>
        </th>
        <th class="column-started" scope="col">
          Started
        </th>
        <th class="column-text" scope="col">
          Input and output
        </th>
        <th class="column-model" scope="col">
          Model and backend
        </th>
        <th class="column-tools" scope="col">
          Tools
        </th>
        <th class="column-tokens" scope="col">
          Tokens
        </th>
        <th class="column-duration" scope="col">
          Duration
        </th>
        <th class="column-key" scope="col">
          {seesTenants() ? "Key and tenant" : "Key"}
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
  const now = useSignal(serverNow());
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => {
      now.value = serverNow();
    }, 1000);
    return () => clearInterval(timer);
  }, [isTicking, now]);
  return now.value;
}
