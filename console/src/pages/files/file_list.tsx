/** The files: upload, download, delete. */
import { useSignal } from "@preact/signals";
import { contentOf, deleteFile, getFile, isOwn, PURPOSES, type Purpose, type StoredFile } from "../../api/files.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { copy, saveBlob } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { bytes, clock, exact } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { Menu } from "../../parts/menu.tsx";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { visible } from "../../parts/raw.tsx";
import { Link, navigate, query } from "../../parts/router.tsx";
import { ListTable } from "../../parts/table.tsx";
import { TenantCell, withTenant } from "../../parts/tenant.tsx";
import { DropZone, UploadList } from "./drop_zone.tsx";
import { ListTop } from "./page.tsx";
import { uploads } from "./uploads.ts";
import "./file_list.css";

const DAY = 86_400;
const LIFETIMES = { never: undefined, "1 day": DAY, "7 days": 7 * DAY, "30 days": 30 * DAY } as const;

/** The list, with the means to upload above it; or the one file that the address names, with its tenant. */
export function FileList() {
  const id = query.value.get("id") ?? "";
  return id ? <SingleFile id={id} tenant={query.value.get("tenant") ?? ""} /> : <AllFiles />;
}

function SingleFile({ id, tenant }: { id: string; tenant: string }) {
  const { data: file, error, reload } = useLoad((signal) => getFile(id, tenant, signal), [id, tenant]);
  return (
    <>
      <ListTop title="Files">
        <Link to="files" class="btn">
          All files
        </Link>
      </ListTop>
      <section class="sheet" aria-label="File">
        {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
        <Loading data={file} error={error} pad />
        {file && <FilesWithActions files={[file]} onChanged={() => navigate("files")} />}
      </section>
    </>
  );
}

function AllFiles() {
  const only = useSignal("");
  const list = usePaged<StoredFile>("/admin/v1/files", only.value ? { purpose: only.value } : {});
  return (
    <>
      <ListTop title="Files">
        <select
          class="input short"
          aria-label="Purpose of the files in the list"
          value={only.value}
          onChange={(event) => {
            only.value = event.currentTarget.value;
          }}
        >
          <option value="">All purposes</option>
          {PURPOSES.map((purpose) => (
            <option key={purpose} value={purpose}>
              {purpose}
            </option>
          ))}
        </select>
      </ListTop>
      <div class="cards">
        <UploadPanel onDone={list.refresh} />
        <UploadList />
        <section class="sheet" aria-label="Files">
          {list.items.length > 0 && <FilesWithActions files={list.items} onChanged={list.refresh} />}
          <ListEnd list={list}>
            <h2>{only.value ? `No files with the purpose ${only.value}` : "No files yet"}</h2>
            <p>Upload files above, or from a program or the command line:</p>
            <pre>antiphon files upload report.pdf</pre>
          </ListEnd>
        </section>
      </div>
    </>
  );
}

/** The table, and what its actions need: a question before a file is deleted, and the error of a download. */
function FilesWithActions({ files, onChanged }: { files: readonly StoredFile[]; onChanged: () => void }) {
  const doomed = useSignal<StoredFile | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const download = (file: StoredFile) => {
    error.value = undefined;
    contentOf(file.id).then(
      (content) => saveBlob(file.filename, content),
      (reason) => {
        error.value = reason;
      },
    );
  };
  return (
    <>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
      <FileTable
        files={files}
        onDownload={download}
        onDelete={(file) => {
          doomed.value = file;
        }}
      />
      {doomed.value && (
        <ConfirmDialog
          title={`Delete ${doomed.value.filename}?`}
          action="Delete"
          onConfirm={() => deleteFile(doomed.value?.id ?? "").then(onChanged)}
          onClose={() => {
            doomed.value = undefined;
          }}
        >
          This permanently deletes the file, and takes it out of all vector stores.
        </ConfirmDialog>
      )}
    </>
  );
}

function UploadPanel({ onDone }: { onDone: () => void }) {
  const purpose = useSignal<Purpose>("user_data");
  const lifetime = useSignal<keyof typeof LIFETIMES>("never");
  return (
    <DropZone
      onFiles={(files) => uploads.add(files, { purpose: purpose.value, seconds: LIFETIMES[lifetime.value], onDone })}
    >
      <span class="drop-options">
        <label>
          Purpose
          <select
            class="input short"
            value={purpose.value}
            onChange={(event) => {
              purpose.value = event.currentTarget.value as Purpose;
            }}
          >
            {PURPOSES.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label>
          Expires
          <select
            class="input short"
            value={lifetime.value}
            onChange={(event) => {
              lifetime.value = event.currentTarget.value as keyof typeof LIFETIMES;
            }}
          >
            {Object.keys(LIFETIMES).map((each) => (
              <option key={each} value={each}>
                {each === "never" ? each : `in ${each}`}
              </option>
            ))}
          </select>
        </label>
      </span>
    </DropZone>
  );
}

interface TableProps {
  files: readonly StoredFile[];
  onDownload: (file: StoredFile) => void;
  onDelete: (file: StoredFile) => void;
}

function FileTable({ files, onDownload, onDelete }: TableProps) {
  return (
    <ListTable
      label="Table of files"
      caption="Files, newest first"
      columns={withTenant(["Name", "Purpose", "Size", "Created", "Expires"])}
      classes={{ Name: "", Size: "num" }}
      usual="wide"
      hasActions
    >
      {files.map((file) => (
        <tr key={file.id}>
          <th scope="row" class="row-name file-name">
            {visible(file.filename)}
            <small class="muted mono">{file.id}</small>
          </th>
          <td class="wide">{file.purpose}</td>
          <td class="num">{bytes(file.bytes)}</td>
          <td class="wide" title={exact(file.created_at * 1000)}>
            {clock(file.created_at * 1000)}
          </td>
          <td class="wide" title={file.expires_at === null ? undefined : exact(file.expires_at * 1000)}>
            {file.expires_at === null ? "never" : clock(file.expires_at * 1000)}
          </td>
          <TenantCell tenant={file.tenant} class="wide" />
          <td>
            <Menu
              class="btn bare icon"
              label={`Actions for ${file.filename}`}
              actions={[
                ...(isOwn(file) ? [{ label: "Download", run: () => onDownload(file) }] : []),
                { label: "Copy ID", run: () => void copy(file.id, "ID") },
                ...(isOwn(file) ? [{ label: "Delete…", run: () => onDelete(file), isDangerous: true }] : []),
              ]}
            >
              <Icon name="dots" />
            </Menu>
          </td>
        </tr>
      ))}
    </ListTable>
  );
}
