/** A button that opens a menu of actions. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./menu.css";

const GAP = 4; // px between the button, the menu and the window

/** One action of a menu. */
export interface Action {
  label: string;
  run: () => void;
  isDangerous?: boolean;
}

interface Props {
  class: string;
  label: string;
  /** The actions, or a function that loads them when the menu opens. */
  actions: Action[] | (() => Promise<Action[]>);
  children: ComponentChildren;
}

/** The button and its menu; arrows move, Escape closes and gives the focus back. */
export function Menu({ class: name, label, actions, children }: Props) {
  const isOpen = useSignal(false);
  const loaded = useSignal<Action[] | undefined>(undefined);
  const failure = useSignal("");
  const entries = typeof actions === "function" ? loaded.value : actions;
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) isOpen.value = false;
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("scroll", close, { capture: true, passive: true });
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("scroll", close, { capture: true });
    };
  }, [isOpen]);
  const place = (list: HTMLDivElement | null) => {
    if (!list || !root.current) return;
    if (!list.matches(":popover-open")) list.showPopover();
    const button = root.current.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = list;
    const left = button.left + width > innerWidth - GAP ? button.right - width : button.left;
    const isAbove = button.bottom + GAP + height > innerHeight && button.top > height;
    list.style.setProperty("left", `${Math.max(GAP, left)}px`);
    list.style.setProperty("top", `${isAbove ? button.top - height - GAP : button.bottom + GAP}px`);
  };
  const items = () => [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const focusFirst = () => requestAnimationFrame(() => items()[0]?.focus());
  const open = () => {
    isOpen.value = true;
    if (typeof actions !== "function") return focusFirst();
    const take = (found: Action[]) => {
      loaded.value = found;
      focusFirst();
    };
    failure.value = "";
    return actions().then(take, (reason) => {
      failure.value = (reason as Error).message;
      take([]);
    });
  };
  const close = () => {
    isOpen.value = false;
    root.current?.querySelector("button")?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && isOpen.value) close();
    else if (step && isOpen.value) {
      const all = items();
      const at = all.indexOf(document.activeElement as HTMLElement);
      all[(at + step + all.length) % all.length]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={root} onKeyDown={move}>
      <button
        type="button"
        class={name}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value ? close() : open())}
      >
        {children}
      </button>
      {isOpen.value && (
        <div class="menu-list sheet" role="menu" aria-label={label} popover="manual" ref={place}>
          {!entries && <span class="muted pad">Loading…</span>}
          {failure.value && <span class="bad pad">{failure.value}</span>}
          {entries?.length === 0 && !failure.value && <span class="muted pad">Nothing to choose</span>}
          {entries?.map((action, at) => (
            <button
              type="button"
              role="menuitem"
              tabIndex={-1}
              key={`${at} ${action.label}`}
              class={action.isDangerous ? "bad" : ""}
              onClick={() => {
                close();
                action.run();
              }}
            >
              {action.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
