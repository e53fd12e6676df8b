/** A dialog in which the reader chooses uploaded files. */
import { useSignal } from "@preact/signals";
import { FILES, type StoredFile } from "../../api/files.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { ErrorNotice } from "../../parts/errors.tsx";
import { bytes } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { visible } from "../../parts/raw.tsx";

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
  const error = useSignal<unknown>(undefined);
  const toggle = (id: string, isOn: boolean) => {
    chosen.value = isOn ? [...chosen.value, id] : chosen.value.filter((each) => each !== id);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    onChosen(list.items.filter(({ id }) => chosen.value.includes(id))).then(onClose, (reason) => {
      error.value = reason;
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="cards" onSubmit={submit}>
        {list.items.length > 0 && (
          <ul class="rows choices">
            {list.items.map(({ id, filename, bytes: size, purpose }) => (
              <li key={id}>
                <label>
                  <input
                    type="checkbox"
                    checked={chosen.value.includes(id)}
                    onChange={(event) => toggle(id, event.currentTarget.checked)}
                  />
                  <span class="cut">{visible(filename)}</span>
                </label>
                <small class="push">
                  {purpose}, {bytes(size)}
                </small>
              </li>
            ))}
          </ul>
        )}
        <ListEnd list={list}>
          <h2>No files yet</h2>
          <p>Upload files first.</p>
        </ListEnd>
        {error.value !== undefined && <ErrorNotice error={error.value} />}
        <div class="row">
          <button type="submit" class="btn first" disabled={chosen.value.length === 0}>
            {action} {chosen.value.length > 0 ? chosen.value.length : ""}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
