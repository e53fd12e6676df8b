/** Responses: figures, histogram, filters and the live list. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { figures } from "../../api/responses.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { useLoad } from "../../parts/load.ts";
import { Menu } from "../../parts/menu.tsx";
import { navigate, query, setQuery } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import { Chips } from "./chips.tsx";
import { FiguresList } from "./figures.tsx";
import { Histogram } from "./histogram.tsx";
import { ResponseTable } from "./list.tsx";
import { type LiveList, useLiveList } from "./live.ts";
import { isRange, RANGES, USUAL_RANGE, windowOf, withTime } from "./window.ts";

const REFRESH = 15_000; // ms between figures
const EXAMPLE = "model:qwen3* took:>10s, words or IDs";

/** The page. The address has the filter line as `?q=` and the range as `?range=`. */
export function ResponsesPage() {
  const line = query.value.get("q") ?? "";
  const named = query.value.get("range") ?? "";
  const range = isRange(named) ? named : USUAL_RANGE;
  const field = useRef<HTMLInputElement>(null);
  const isPaused = useSignal(false);
  const selected = useSignal(-1);
  const turn = useTurns(isPaused.value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each turn moves the window to the present.
  const window = useMemo(() => windowOf(line, range, Date.now() / 1000), [line, range, turn]);
  const list = useLiveList(line, isPaused);
  const found = useLoad((signal) => figures({ ...window, q: line }, signal), [line, range, turn]);
  const change = (next: string) => {
    selected.value = -1;
    setQuery({ q: next });
  };
  const type = (prefix: string) => {
    if (!field.current) return;
    field.current.value = `${line} ${prefix}`.trimStart();
    field.current.focus();
  };
  useListShortcuts(list, selected, field, line, change, isPaused);
  return (
    <>
      <Top title="Responses">
        <LiveState list={list} isPaused={isPaused.value} />
        <Search field={field} line={line} onChange={change} />
        <Menu
          class="btn wide"
          label="Time of the figures"
          actions={Object.entries(RANGES).map(([key, { name }]) => ({
            label: name,
            run: () => setQuery({ range: key }),
          }))}
        >
          <Icon name="clock" />
          {RANGES[range].name}
          <Icon name="down" />
        </Menu>
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
      {list.error.value !== undefined && list.rows.value.visible.length > 0 && <ErrorNotice error={list.error.value} />}
      {found.error !== undefined && !list.error.value && <ErrorNotice error={found.error} onRetry={found.reload} />}
      <section class="sheet overview" aria-label="Figures">
        <FiguresList found={found.data} isFailed={found.error !== undefined} />
        <Histogram found={found.data} onChoose={(since, until) => change(withTime(line, since, until))} />
      </section>
      <Chips line={line} found={found.data} window={window} onChange={change} onType={type} />
      <ResponseTable list={list} line={line} selected={selected} onClear={() => change("")} />
    </>
  );
}

function Search({
  field,
  line,
  onChange,
}: {
  field: { current: HTMLInputElement | null };
  line: string;
  onChange: (q: string) => void;
}) {
  useEffect(() => {
    if (field.current) field.current.value = line;
  }, [line, field]);
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(field.current?.value.trim() ?? "");
        field.current?.blur();
      }}
    >
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        enterkeyhint="search"
        aria-label="Filter"
        placeholder={EXAMPLE}
        spellcheck={false}
        autocomplete="off"
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <kbd class="wide">/</kbd>
    </form>
  );
}

function LiveState({ list, isPaused }: { list: LiveList; isPaused: boolean }) {
  if (isPaused) return <span class="live off">Paused</span>;
  if (list.state.value === "live") return <span class="live">Live</span>;
  return list.state.value === "offline" ? <span class="live off">Reconnecting</span> : null;
}

function toggle(isPaused: { value: boolean }, list: LiveList): void {
  isPaused.value = !isPaused.value;
  if (!isPaused.value) list.release();
}

function useListShortcuts(
  list: LiveList,
  selected: { value: number },
  field: { current: HTMLInputElement | null },
  line: string,
  change: (line: string) => void,
  isPaused: { value: boolean },
): void {
  const move = (step: number) => () => {
    const last = list.rows.value.visible.length - 1;
    selected.value = Math.min(last, Math.max(0, selected.value + step));
  };
  const open = () => {
    const row = list.rows.value.visible[selected.value];
    if (row) navigate(`r/${row.id}`);
  };
  useShortcuts([
    { keys: "/", does: "Filter", run: () => field.current?.select() },
    { keys: "j", does: "Next response", run: move(1) },
    { keys: "k", does: "Previous response", run: move(-1) },
    { keys: "Enter", does: "Open the response", run: open },
    { keys: "p", does: "Pause live updates", run: () => toggle(isPaused, list) },
    { keys: "Escape", does: "Clear the filters", run: () => line && change("") },
  ]);
}

/** A number that grows with each refresh of the figures; it stands still while paused or in the background. */
function useTurns(isPaused: boolean): number {
  const turn = useSignal(0);
  useEffect(() => {
    if (isPaused) return;
    const timer = setInterval(() => {
      if (!document.hidden) turn.value += 1;
    }, REFRESH);
    return () => clearInterval(timer);
  }, [isPaused, turn]);
  return turn.value;
}
