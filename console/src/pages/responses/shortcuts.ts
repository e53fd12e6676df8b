/** The keys of the list. */
import type { Signal } from "@preact/signals";
import { useShortcuts } from "../../parts/keys.ts";
import { responsePath } from "../../parts/paths.ts";
import { navigate } from "../../parts/router.tsx";
import type { LiveList } from "./live.ts";

interface Used {
  list: LiveList;
  selected: Signal<number>;
  field: { current: HTMLInputElement | null };
  isPaused: Signal<boolean>;
  onClear: () => void;
}

/** Pause the list, or continue with what waits. */
export function toggle(isPaused: Signal<boolean>, list: LiveList): void {
  isPaused.value = !isPaused.value;
  if (!isPaused.value) list.release();
}

/** Offer the keys as long as the list is shown. */
export function useListShortcuts({ list, selected, field, isPaused, onClear }: Used): void {
  const move = (step: number) => () => {
    const last = list.rows.value.visible.length - 1;
    selected.value = Math.min(last, Math.max(0, selected.value + step));
  };
  const open = () => {
    const row = list.rows.value.visible[selected.value];
    if (row) navigate(responsePath(row.id));
  };
  useShortcuts([
    { keys: "/", does: "Filter", run: () => field.current?.select() },
    { keys: "j", does: "Next response", run: move(1) },
    { keys: "k", does: "Previous response", run: move(-1) },
    { keys: "Enter", does: "Open the response", run: open },
    { keys: "p", does: "Pause live updates", run: () => toggle(isPaused, list) },
    { keys: "Escape", does: "Clear the filters", run: onClear },
  ]);
}
