/** A dialog with a form that creates or changes something. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog.tsx";
import { ErrorNotice } from "./errors.tsx";

interface Props<T> {
  title: string;
  /** What the button says. */
  action: ComponentChildren;
  isDisabled?: boolean;
  send: () => Promise<T>;
  onSaved?: (saved: T) => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** The dialog; it closes once the request has succeeded, and shows its error otherwise. */
export function FormDialog<T>({ title, action, isDisabled = false, send, onSaved, onClose, children }: Props<T>) {
  const error = useSignal<unknown>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isDisabled) return;
    send().then(
      (saved) => {
        onClose();
        onSaved?.(saved);
      },
      (reason) => {
        error.value = reason;
      },
    );
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="cards" onSubmit={submit}>
        {children}
        {error.value !== undefined && <ErrorNotice error={error.value} />}
        <div class="row">
          <button type="submit" class="btn first" disabled={isDisabled}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
