/** Dialogs: they take the focus, give it back, and close by Escape. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";
import "./dialog.css";

const FIELD = ":is(input, select, textarea):enabled";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog that is open as long as it is rendered. Its first field takes the focus, if it has one. */
export function Dialog({ title, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    ref.current?.querySelector<HTMLElement>(FIELD)?.focus(); // showModal takes the first button, Close
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class="dialog sheet" aria-labelledby="dialog-title" onClose={onClose}>
      <div class="head">
        <h2 id="dialog-title">{title}</h2>
        <button type="button" class="btn bare icon push" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
