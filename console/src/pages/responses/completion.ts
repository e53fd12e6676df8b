/** Suggestions for the term at the caret: names of filters, and values with counts. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { request } from "../../api/client.ts";
import { plural } from "../../parts/format.ts";
import { announce } from "../../parts/live.tsx";
import { termAt } from "./terms.ts";

/** A term that completes what is typed, with the number of recent responses that have it, where that is counted. */
export interface Suggestion {
  text: string;
  count: number | null;
}

/** The suggestions, and the one that the keyboard is at, or -1. */
export interface Completion {
  suggestions: Signal<readonly Suggestion[]>;
  active: Signal<number>;
  /** Load what completes the term at the caret. */
  update: () => void;
  close: () => void;
  move: (step: number) => void;
}

const DELAY = 120; // ms without a further key
const MOST_TYPED = 200; // characters of a term that can be the beginning of a value

/** Offer suggestions for a field: nothing while the server does not answer. */
export function useCompletion(field: { current: HTMLInputElement | null }): Completion {
  const suggestions = useSignal<readonly Suggestion[]>([]);
  const active = useSignal(-1);
  const pending = useRef<AbortController | undefined>(undefined);
  const show = (found: readonly Suggestion[]) => {
    suggestions.value = found;
    active.value = -1;
    if (found.length > 0) announce(plural(found.length, "suggestion"));
  };
  const close = () => {
    pending.current?.abort();
    show([]);
  };
  const update = () => {
    pending.current?.abort();
    const { value = "", selectionStart } = field.current ?? {};
    const { text } = termAt(value, selectionStart ?? value.length);
    if (text.length > MOST_TYPED) return show([]);
    const control = new AbortController();
    pending.current = control;
    const { signal } = control;
    const load = async () => {
      if (signal.aborted) return;
      const { data } = await request<{ data: Suggestion[] }>("/admin/v1/suggestions", { query: { q: text }, signal });
      if (!signal.aborted) show(data.filter((each) => each.text !== text));
    };
    setTimeout(() => load().catch(() => {}), DELAY);
  };
  const move = (step: number) => {
    const { length } = suggestions.value;
    if (length > 0) active.value = (Math.max(active.value, step > 0 ? -1 : 0) + step + length) % length;
  };
  useEffect(() => () => pending.current?.abort(), []);
  return { suggestions, active, update, close, move };
}
