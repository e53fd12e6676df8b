/** The form that creates or changes a vector store. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { pathOf, STORES, type VectorStore } from "../../api/files.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { ErrorNotice } from "../../parts/errors.tsx";
import { TextField } from "../../parts/fields.tsx";
import { nameOf } from "./store_parts.tsx";

const LONGEST = 365; // days

interface Props {
  old?: VectorStore;
  onClose: () => void;
  onSaved: (store: VectorStore) => void;
}

/** The dialog with the form; `old` is the vector store that it changes. */
export function StoreForm({ old, onClose, onSaved }: Props) {
  const name = useSignal(old?.name ?? "");
  const days = useSignal(old?.expires_after ? String(old.expires_after.days) : "");
  const error = useSignal<unknown>(undefined);
  const isWrong = days.value !== "" && !(Number(days.value) >= 1 && Number(days.value) <= LONGEST);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isWrong) return;
    const expires_after = days.value === "" ? null : { anchor: "last_active_at", days: Number(days.value) };
    const body = { name: name.value || null, expires_after };
    request<VectorStore>(old ? pathOf(old.id) : STORES, { method: "POST", body }).then(
      (saved) => {
        onClose();
        onSaved(saved);
      },
      (reason) => {
        error.value = reason;
      },
    );
  };
  return (
    <Dialog title={old ? `Change ${nameOf(old)}` : "Create a vector store"} onClose={onClose}>
      <form class="cards" onSubmit={submit}>
        <TextField
          label="Name"
          value={name.value}
          onInput={(text) => {
            name.value = text;
          }}
        />
        <TextField
          label="Days without use until it expires"
          note="empty: never"
          inputMode="numeric"
          value={days.value}
          error={isWrong ? `A number from 1 to ${LONGEST}` : ""}
          onInput={(text) => {
            days.value = text.trim();
          }}
        />
        {error.value !== undefined && <ErrorNotice error={error.value} />}
        <div class="row">
          <button type="submit" class="btn first" disabled={isWrong}>
            {old ? "Save" : "Create"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
