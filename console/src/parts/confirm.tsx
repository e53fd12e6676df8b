/** A question before something that cannot be undone. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog.tsx";
import { ErrorNotice } from "./errors.tsx";

interface Props {
  title: string;
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: ComponentChildren;
}

/** The dialog; it closes once the action has succeeded, and shows its error otherwise. */
export function ConfirmDialog({ title, action, onConfirm, onClose, children }: Props) {
  const error = useSignal<unknown>(undefined);
  const confirm = () => {
    onConfirm().then(onClose, (reason) => {
      error.value = reason;
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
      <div class="row">
        <button type="button" class="btn danger" onClick={confirm}>
          {action}
        </button>
        <button type="button" class="btn" onClick={onClose}>
          Keep
        </button>
      </div>
    </Dialog>
  );
}
