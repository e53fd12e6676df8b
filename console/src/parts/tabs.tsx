/** Tabs: arrows move between them, and each has its panel. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import "./tabs.css";

/** One tab; `count` is shown next to its name. */
export interface Tab<T extends string> {
  key: T;
  name: string;
  count?: number | undefined;
}

interface Props<T extends string> {
  label: string;
  tabs: readonly Tab<T>[];
  chosen: T;
  onChoose: (key: T) => void;
  aside?: ComponentChildren;
  children: ComponentChildren;
}

/** A row of tabs and the panel of the chosen one. */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose, aside, children }: Props<T>) {
  const id = useId();
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(({ key }) => key === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.key);
    document.getElementById(`${id}-${next.key}`)?.focus();
  };
  return (
    <>
      <div class="tabs">
        <div class="tab-list" role="tablist" aria-label={label} onKeyDown={move}>
          {tabs.map(({ key, name, count }) => (
            <button
              type="button"
              role="tab"
              key={key}
              id={`${id}-${key}`}
              aria-selected={key === chosen}
              aria-controls={`${id}-panel`}
              tabIndex={key === chosen ? 0 : -1}
              onClick={() => onChoose(key)}
            >
              {name}
              {count !== undefined && <span class="count">{count.toLocaleString()}</span>}
            </button>
          ))}
        </div>
        {aside}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </>
  );
}
