/** The files of a vector store: their status, why they failed, attach and detach. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { attachFiles, pathOf, type StoreFile, type VectorStore } from "../../api/files.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { bytes, clock, exact } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { AttributeTags } from "../../parts/items/hits.tsx";
import { ListEnd } from "../../parts/more.tsx";
import type { Paged } from "../../parts/paged.ts";
import { visible } from "../../parts/raw.tsx";
import { FileChooser } from "./choose.tsx";
import { DropZone, UploadList } from "./drop_zone.tsx";
import { StatusTag } from "./store_parts.tsx";
import { uploads } from "./uploads.ts";

/** What the codes mean, where an error has no message. */
const ERRORS: Record<string, string> = {
  unsupported_file: "The format cannot be read.",
  invalid_file: "The file is damaged, locked, too large, or has no text.",
  server_error: "The server could not ingest the file.",
};

interface Props {
  store: VectorStore;
  list: Paged<StoreFile>;
  isOwn: boolean;
  onChanged: () => void;
}

/** The list, and above it the means to attach more. */
export function StoreFiles({ store, list, isOwn, onChanged }: Props) {
  const doomed = useSignal<StoreFile | undefined>(undefined);
  const isChoosing = useSignal(false);
  const canAttach = isOwn && store.status !== "expired";
  const send = (files: Iterable<File>) =>
    uploads.add(files, {
      purpose: "assistants",
      after: ({ id }) => attachFiles(store.id, [id]),
      onDone: onChanged,
    });
  return (
    <>
      {canAttach && (
        <DropZone onFiles={send}>
          <button
            type="button"
            class="btn push"
            onClick={() => {
              isChoosing.value = true;
            }}
          >
            Attach uploaded files
          </button>
        </DropZone>
      )}
      {canAttach && <UploadList />}
      <section class="sheet" aria-label="Files of the vector store">
        <div class="head">
          <h2>Files</h2>
        </div>
        {list.items.length > 0 && (
          <ul class="list-lines">
            {list.items.map((file) => (
              <FileLine
                key={file.id}
                file={file}
                onDetach={
                  isOwn
                    ? () => {
                        doomed.value = file;
                      }
                    : undefined
                }
              />
            ))}
          </ul>
        )}
        <ListEnd list={list}>
          <h2>{store.status === "expired" ? "This vector store has expired" : "No files yet"}</h2>
          <p>
            {store.status === "expired"
              ? "Its files left it when it expired."
              : "Upload files, or attach uploaded ones."}
          </p>
        </ListEnd>
      </section>
      {isChoosing.value && (
        <FileChooser
          title="Attach files"
          action="Attach"
          onChosen={(files) =>
            attachFiles(
              store.id,
              files.map(({ id }) => id),
            ).then(onChanged)
          }
          onClose={() => {
            isChoosing.value = false;
          }}
        />
      )}
      {doomed.value && (
        <ConfirmDialog
          title={`Detach ${doomed.value.filename}?`}
          action="Detach"
          onConfirm={() =>
            request(pathOf(store.id, `/files/${encodeURIComponent(doomed.value?.id ?? "")}`), {
              method: "DELETE",
            }).then(onChanged)
          }
          onClose={() => {
            doomed.value = undefined;
          }}
        >
          Searches of this vector store no longer find the file. The file itself stays.
        </ConfirmDialog>
      )}
    </>
  );
}

function FileLine({ file, onDetach }: { file: StoreFile; onDetach: (() => void) | undefined }) {
  const { filename, status, last_error: error, attributes, usage_bytes, created_at } = file;
  return (
    <li>
      <div class="grow">
        <span>{visible(filename)}</span>
        {error && <p class="error-text">{visible(error.message || ERRORS[error.code] || error.code)}</p>}
        <AttributeTags attributes={attributes} />
      </div>
      <StatusTag status={status} />
      {status === "completed" && <span class="muted small num wide">{bytes(usage_bytes)}</span>}
      <span class="muted small num wide" title={exact(created_at * 1000)}>
        {clock(created_at * 1000)}
      </span>
      {onDetach && (
        <button type="button" class="btn bare icon" aria-label={`Detach ${filename}`} onClick={onDetach}>
          <Icon name="close" />
        </button>
      )}
    </li>
  );
}
