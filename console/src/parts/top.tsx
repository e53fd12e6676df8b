/** The head of a page: its title, which the window has too, and its actions. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { announce } from "./live.tsx";

/** Name the window after a page, tell screen readers, and move the focus to the page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Antiphon`;
    announce(title);
  }, [title]);
}

/** The head of a page: an `h1`, then what the page has beside it. */
export function Top({ title, children }: { title: string; children?: ComponentChildren }) {
  useTitle(title);
  return (
    <header class="top">
      <h1>{title}</h1>
      {children}
    </header>
  );
}
