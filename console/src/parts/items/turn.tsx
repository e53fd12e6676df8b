/** The frame of an item: a face, a name, and its status. */
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "../icons.tsx";
import "./turn.css";

interface TurnProps {
  face: string;
  icon: IconName;
  name: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}

/** A turn: a face, a name, and what was said or done. */
export function Turn({ face, icon, name, aside, children }: TurnProps) {
  return (
    <div class="turn">
      <span class={`turn-face ${face}`}>
        <Icon name={icon} />
      </span>
      <div class="turn-body">
        <div class="turn-by">
          <b>{name}</b>
          {aside}
        </div>
        {children}
      </div>
    </div>
  );
}

/** The status of an item. */
export function StatusTag({ status }: { status: string }) {
  const tone = { completed: "good", failed: "bad", incomplete: "warn" }[status] ?? "accent";
  return <span class={`tag ${tone}`}>{status.replace("_", " ")}</span>;
}
