/** Keyboard shortcuts: single keys and sequences such as `g r`; none while the reader types. */
import { useLayoutEffect } from "preact/hooks";
import { shortcuts } from "./preferences.ts";

/** What a key does, and its words in the list of shortcuts. */
export interface Shortcut {
  keys: string;
  does: string;
  run: () => void;
}

const active: Shortcut[][] = [];
const SEQUENCE = 1200; // ms between the keys of a sequence
let pending = "";
let since = 0;

/** Return all shortcuts of what is shown, the newest first. */
export function activeShortcuts(): Shortcut[] {
  return active.flat();
}

/** Offer shortcuts as long as a component is shown. */
export function useShortcuts(list: Shortcut[]): void {
  useLayoutEffect(() => {
    // At once, not after the next paint: who sees the page can press its keys.
    active.unshift(list);
    return () => {
      active.splice(active.indexOf(list), 1);
    };
  });
}

/** Whether a key is meant for a field. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Perform the shortcut of a key press, if there is one. Returns whether there was. */
export function press(key: string, now: number): boolean {
  const typed = now - since < SEQUENCE && pending ? `${pending} ${key}` : key;
  const all = activeShortcuts();
  const found = all.find((each) => each.keys === typed) ?? all.find((each) => each.keys === key);
  pending = found ? "" : key;
  since = now;
  found?.run();
  return found !== undefined;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (shortcuts.value === "off" && event.key !== "Escape") return;
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && event.target instanceof Element && event.target.closest("a, button, summary")) return;
  if (press(event.key, event.timeStamp)) event.preventDefault();
});
