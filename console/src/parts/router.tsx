/** Addresses below the console: the path and the query that are shown, and links between them. */
import { computed, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { CONSOLE } from "../api/base.ts";

/** The address that is shown. */
export const place = signal(read());

/** The query of the address. */
export const query = computed(() => new URLSearchParams(place.value.search));

function read() {
  const path = location.pathname.startsWith(CONSOLE) ? location.pathname.slice(CONSOLE.length) : "";
  return { path: path.replace(/\/+$/, ""), search: location.search, hash: location.hash };
}

addEventListener("popstate", () => {
  place.value = read();
});

/** Return the address of a page of the console. */
export function hrefOf(path: string): string {
  return CONSOLE + path;
}

/** Show another page. */
export function navigate(path: string, { replace = false } = {}): void {
  const url = hrefOf(path);
  if (replace) history.replaceState(history.state, "", url);
  else history.pushState({ inside: true }, "", url);
  place.value = read();
  if (!replace) scrollTo(0, 0);
}

/** Change parts of the query; an empty value removes one. Back undoes it, unless it happens in place. */
export function setQuery(changes: Record<string, string>, { replace = true } = {}): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  navigate(place.value.path + (text && `?${text}`), { replace });
}

interface LinkProps {
  to: string;
  class?: string;
  current?: boolean;
  title?: string;
  tabIndex?: number;
  label?: string;
  children: ComponentChildren;
}

/** A link to another page of the console. With a modifier key the browser opens it as it opens every link. */
export function Link({ to, current, label, children, ...rest }: LinkProps) {
  const open = (event: MouseEvent) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a href={hrefOf(to)} onClick={open} aria-current={current ? "page" : undefined} aria-label={label} {...rest}>
      {children}
    </a>
  );
}
