/** The head of a page: its title, which the window has too, and its actions. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { announce } from "./live.tsx";
import { visible } from "./raw.tsx";
import { Link } from "./router.tsx";
import "./top.css";

/** Name the window after a page, announce it to screen readers, and move the focus to the page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Antiphon`;
    announce(title);
  }, [title]);
}

/** The head of a page: an `h1`, then the other controls of the page. */
export function Top({ title, children }: { title: string; children?: ComponentChildren }) {
  useTitle(title);
  return (
    <header class="top">
      <h1>{title}</h1>
      {children}
    </header>
  );
}

interface OneTopProps {
  /** The name of the list that this is one of, and its path. */
  list: string;
  to: string;
  name: string;
  /** The actions. */
  children: ComponentChildren;
}

/** The head of the page of one of a list: the way back, its name, and its actions. */
export function OneTop({ list, to, name, children }: OneTopProps) {
  useTitle(name);
  return (
    <header class="top store-top">
      <h1 class="crumb">
        <Link to={to}>{list}</Link>
        <span aria-hidden="true">/</span>
        <span class="cut" title={name}>
          {visible(name)}
        </span>
      </h1>
      <span class="push" />
      {children}
    </header>
  );
}
