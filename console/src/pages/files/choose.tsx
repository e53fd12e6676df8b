/** A dialog in which the reader chooses uploaded files. */
import { useSignal } from "@preact/signals";
import { FILES, type StoredFile } from "../../api/files.ts";
import { ChoiceRows } from "../../parts/choice_rows.tsx";
import { FormDialog } from "../../parts/form.tsx";
import { bytes } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";

interface Props {
  title: string;
  action: string;
  onChosen: (files: readonly StoredFile[]) => Promise<unknown>;
  onClose: () => void;
}

/** The dialog; it closes once the choice has been acted on. */
export function FileChooser({ title, action, onChosen, onClose }: Props) {
  const list = usePaged<StoredFile>(FILES);
  const chosen = useSignal<readonly string[]>([]);
  const count = chosen.value.length;
  return (
    <FormDialog
      title={title}
      action={`${action} ${count > 0 ? count : ""}`.trim()}
      isDisabled={count === 0}
      send={() => onChosen(list.items.filter(({ id }) => chosen.value.includes(id)))}
      onClose={onClose}
    >
      <ChoiceRows
        rows={list.items.map((file) => ({ id: file.id, name: file.filename, note: noteOf(file) }))}
        chosen={chosen.value}
        onChoose={(ids) => {
          chosen.value = ids;
        }}
      />
      <ListEnd list={list}>
        <h2>No files yet</h2>
        <p>Upload files first.</p>
      </ListEnd>
    </FormDialog>
  );
}

/** Return the text next to a file's name. */
export function noteOf({ purpose, bytes: size }: StoredFile): string {
  return `${purpose}, ${bytes(size)}`;
}
