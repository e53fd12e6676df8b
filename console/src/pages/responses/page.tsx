/** Responses: figures, histogram, filters and the live list. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { serverNow } from "../../api/clock.ts";
import { figures } from "../../api/responses.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useLoad } from "../../parts/load.ts";
import { query, setQuery } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import { Chips } from "./chips.tsx";
import { FiguresList } from "./figures.tsx";
import { Histogram } from "./histogram.tsx";
import { ResponseTable } from "./list.tsx";
import { type LiveList, useLiveList } from "./live.ts";
import { Search } from "./search.tsx";
import { toggle, useListShortcuts } from "./shortcuts.ts";
import { TimeMenu, timeText } from "./time_menu.tsx";
import { ListTools } from "./tools.tsx";
import { type Window, windowOf, withTime } from "./window.ts";
import "./page.css";

const REFRESH = 15_000; // ms between figures

/** The page. The address has the filter line as `?q=`. */
export function ResponsesPage() {
  const line = query.value.get("q") ?? "";
  const field = useRef<HTMLInputElement>(null);
  const isPaused = useSignal(false);
  const selected = useSignal(-1);
  const picked = useSignal<readonly string[]>([]);
  const list = useLiveList(line, isPaused);
  const turn = useTurns(isPaused.value, list);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each turn moves the window to the present.
  const window = useMemo(() => windowOf(line, serverNow() / 1000), [line, turn]);
  const change = (next: string) => setQuery({ q: next }, { replace: false });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another line is another list, also after Back.
  useEffect(() => {
    selected.value = -1;
    picked.value = [];
  }, [line]);
  const type = (prefix: string) => {
    if (!field.current) return;
    field.current.value = `${line} ${prefix}`.trimStart();
    field.current.focus();
  };
  useListShortcuts({ list, selected, field, isPaused, onClear: () => line && change("") });
  return (
    <>
      <Top title="Responses">
        <LiveState list={list} isPaused={isPaused.value} />
        <Search field={field} line={line} isInvalid={list.state.value === "rejected"} onChange={change} />
        <TimeMenu line={line} window={window} onChange={change} />
        <button
          type="button"
          class="btn icon"
          aria-label="Pause live updates"
          aria-pressed={isPaused.value}
          onClick={() => toggle(isPaused, list)}
        >
          <Icon name={isPaused.value ? "playground" : "pause"} />
        </button>
      </Top>
      {list.error.value !== undefined && list.state.value === "live" && <ErrorNotice error={list.error.value} />}
      <Overview line={line} window={window} list={list} onChange={change} onType={type} />
      <ResponseTable list={list} line={line} selected={selected} picked={picked} onChange={change} />
    </>
  );
}

interface OverviewProps {
  line: string;
  window: Window;
  list: LiveList;
  onChange: (line: string) => void;
  onType: (prefix: string) => void;
}

/** Figures, histogram and filters. What was loaded for another filter line is not shown. */
function Overview({ line, window, list, onChange, onType }: OverviewProps) {
  const load = async (signal: AbortSignal) => ({ line, figures: await figures({ ...window, q: line }, signal) });
  const loaded = useLoad(load, [line, window]);
  const found = loaded.data?.line === line ? loaded.data.figures : undefined;
  const time = timeText(line, window);
  const hasFailed = loaded.error !== undefined;
  const isReported = list.error.value !== undefined || list.state.value === "offline"; // by the list, for the same reason
  return (
    <>
      {hasFailed && !isReported && <ErrorNotice error={loaded.error} onRetry={loaded.reload} />}
      <section class="sheet overview" aria-label={`Figures: ${time}`}>
        <h2 class="overview-time">{time}</h2>
        <FiguresList found={found} isFailed={hasFailed} />
        <Histogram found={found} onChoose={(since, until) => onChange(withTime(line, since, until))} />
      </section>
      <div class="filter-row">
        <Chips line={line} found={found} window={window} onChange={onChange} onType={onType} />
        <ListTools line={line} onChange={onChange} />
      </div>
    </>
  );
}

/** One word on the connection. */
function LiveState({ list, isPaused }: { list: LiveList; isPaused: boolean }) {
  if (list.state.value === "offline") return <span class="live off">Reconnecting</span>;
  if (isPaused) return <span class="live off">Paused</span>;
  return list.state.value === "live" ? <span class="live">Live</span> : null;
}

/** A number that grows with each refresh of the figures and each new connection; not while paused or in the background. */
function useTurns(isPaused: boolean, list: LiveList): number {
  const turn = useSignal(0);
  const state = list.state.value;
  const before = useRef(state);
  useEffect(() => {
    if (state === "live" && before.current === "offline") turn.value += 1;
    before.current = state;
  }, [state, turn]);
  useEffect(() => {
    if (isPaused) return;
    const timer = setInterval(() => {
      if (!document.hidden) turn.value += 1;
    }, REFRESH);
    return () => clearInterval(timer);
  }, [isPaused, turn]);
  return turn.value;
}
