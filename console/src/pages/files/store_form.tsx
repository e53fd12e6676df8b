/** The form that creates or changes a vector store. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { pathOf, STORES, type VectorStore } from "../../api/files.ts";
import { TextField } from "../../parts/fields.tsx";
import { FormDialog } from "../../parts/form.tsx";
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
  const isWrong = days.value !== "" && !(Number(days.value) >= 1 && Number(days.value) <= LONGEST);
  const send = () => {
    const expires_after = days.value === "" ? null : { anchor: "last_active_at", days: Number(days.value) };
    const body = { name: name.value || null, expires_after };
    return request<VectorStore>(old ? pathOf(old.id) : STORES, { method: "POST", body });
  };
  return (
    <FormDialog
      title={old ? `Change ${nameOf(old)}` : "Create a vector store"}
      action={old ? "Save" : "Create"}
      isDisabled={isWrong}
      send={send}
      onSaved={onSaved}
      onClose={onClose}
    >
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
    </FormDialog>
  );
}
