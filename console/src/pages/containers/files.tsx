/** The files of a container: download and delete. */
import { useSignal } from "@preact/signals";
import {
  type ContainerDetails,
  type ContainerFile,
  containerContent,
  deleteContainerFile,
  nameIn,
} from "../../api/containers.ts";
import { isOwn } from "../../api/files.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { saveBlob } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { bytes } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { visible } from "../../parts/raw.tsx";
import { When } from "./state.tsx";

const ORIGINS = { user: "uploaded", assistant: "made by code" } as const;

interface Props {
  container: ContainerDetails;
  onChanged: () => void;
}

/** The list; only the reader's own files can be downloaded and deleted. */
export function ContainerFiles({ container, onChanged }: Props) {
  const doomed = useSignal<ContainerFile | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const canOpen = isOwn(container) && container.status === "running";
  const download = ({ id, path }: ContainerFile) => {
    error.value = undefined;
    containerContent(container.id, id).then(
      (content) => saveBlob(nameIn(path), content),
      (reason) => {
        error.value = reason;
      },
    );
  };
  return (
    <section class="sheet" aria-label="Files of the container">
      <div class="head">
        <h2>Files</h2>
      </div>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
      <ul class="list-lines">
        {container.files.map((file) => (
          <li key={file.id}>
            <div class="grow">
              <span class="mono">{visible(file.path)}</span>
              <span class="muted small">
                {ORIGINS[file.source]}, {bytes(file.bytes)}
              </span>
            </div>
            <span class="muted small num wide">
              <When at={file.created_at} />
            </span>
            {canOpen && (
              <>
                <button
                  type="button"
                  class="btn bare icon"
                  aria-label={`Download ${nameIn(file.path)}`}
                  onClick={() => download(file)}
                >
                  <Icon name="download" />
                </button>
                <button
                  type="button"
                  class="btn bare icon"
                  aria-label={`Delete ${nameIn(file.path)}`}
                  onClick={() => {
                    doomed.value = file;
                  }}
                >
                  <Icon name="close" />
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
      {container.files.length === 0 && (
        <div class="empty">
          <h3>{container.status === "running" ? "No files yet" : "This container has expired"}</h3>
          <p>
            {container.status === "running"
              ? "Files that code writes to /mnt/data appear here after its call."
              : "Its files were deleted when it expired."}
          </p>
        </div>
      )}
      {doomed.value && (
        <ConfirmDialog
          title={`Delete ${nameIn(doomed.value.path)}?`}
          action="Delete"
          onConfirm={() => deleteContainerFile(container.id, doomed.value?.id ?? "").then(onChanged)}
          onClose={() => {
            doomed.value = undefined;
          }}
        >
          This permanently deletes the file. Later code in this container no longer finds it.
        </ConfirmDialog>
      )}
    </section>
  );
}
