/** One vector store: its state, its files, and a search. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { getStore, isOwn, pathOf, type StoreFile, type VectorStore } from "../../api/files.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { bytes, clock, count, exact } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { Menu } from "../../parts/menu.tsx";
import { REFRESHED, usePaged } from "../../parts/paged.ts";
import { usePolling } from "../../parts/poll.ts";
import { navigate, query } from "../../parts/router.tsx";
import { OneTop } from "../../parts/top.tsx";
import { StoreFiles } from "./store_files.tsx";
import { StoreForm } from "./store_form.tsx";
import { nameOf, StatusTag } from "./store_parts.tsx";
import { StoreSearch } from "./store_search.tsx";
import "./store.css";

/** The page. */
export function StorePage({ id }: { id: string }) {
  const tenant = query.value.get("tenant") ?? "";
  const { data: store, error, reload } = useLoad((signal) => getStore(id, tenant, signal), [id, tenant]);
  const files = usePaged<StoreFile>(`/admin${pathOf(id, "/files")}`, tenant ? { tenant } : {});
  const refresh = () => {
    reload();
    files.refresh();
  };
  // The two are answered at different moments: the last file may have ended between them.
  const isInProgress = [store, ...files.items.slice(0, REFRESHED)].some((one) => one?.status === "in_progress");
  const polling = usePolling(isInProgress, refresh);
  const name = store ? nameOf(store) : id;
  return (
    <>
      <OneTop list="Vector stores" to="files/stores" name={name}>
        {store && isOwn(store) && <Actions store={store} onChanged={refresh} />}
      </OneTop>
      {error !== undefined && <ErrorNotice error={error} onRetry={refresh} />}
      <Loading data={store} error={error} />
      {store && (
        <div class="cards">
          <Facts store={store} />
          {polling.isPaused && (
            <div class="notice">
              <p>Ingestion is still in progress. This page no longer updates automatically.</p>
              <button type="button" class="btn" onClick={polling.resume}>
                Look again
              </button>
            </div>
          )}
          {isOwn(store) ? (
            <StoreSearch store={store} />
          ) : (
            <p class="notice">
              This vector store belongs to the tenant {store.tenant}. To search or change it, sign in with a key of that
              tenant.
            </p>
          )}
          <StoreFiles store={store} list={files} isOwn={isOwn(store)} onChanged={refresh} />
        </div>
      )}
    </>
  );
}

function Facts({ store }: { store: VectorStore }) {
  const { total, in_progress, completed, failed } = store.file_counts;
  const facts = [
    ["Files", count(total)],
    ["Failed", count(failed)],
    ["Size", bytes(store.usage_bytes)],
    ["Last active", clock(store.last_active_at * 1000), exact(store.last_active_at * 1000)],
    [
      "Expires",
      store.expires_at === null ? "never" : clock(store.expires_at * 1000),
      store.expires_at === null ? "" : exact(store.expires_at * 1000),
    ],
  ];
  return (
    <section class="sheet" aria-label="State">
      <dl class="store-facts">
        <div>
          <dt>Status</dt>
          <dd>
            <StatusTag status={store.status} />
          </dd>
        </div>
        {facts.map(([name, value, title]) => (
          <div key={name} title={title || undefined}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {in_progress > 0 && (
        <div class="ingestion">
          <progress class="progress" max={total} value={total - in_progress} aria-label="Ingestion" />
          <p class="muted small">
            {count(completed + failed)} of {count(total)} ingested
          </p>
        </div>
      )}
    </section>
  );
}

function Actions({ store, onChanged }: { store: VectorStore; onChanged: () => void }) {
  const open = useSignal<"change" | "delete" | undefined>(undefined);
  const close = () => {
    open.value = undefined;
  };
  return (
    <>
      <button
        type="button"
        class="btn wide"
        onClick={() => {
          open.value = "change";
        }}
      >
        Change
      </button>
      <button type="button" class="btn wide" onClick={() => navigate(`play?store=${encodeURIComponent(store.id)}`)}>
        <Icon name="playground" />
        Ask about it
      </button>
      <Menu
        class="btn icon"
        label="More actions"
        actions={[
          {
            label: "Rename…",
            run: () => {
              open.value = "change";
            },
          },
          { label: "Ask in the playground", run: () => navigate(`play?store=${encodeURIComponent(store.id)}`) },
          { label: "Copy ID", run: () => void copy(store.id, "ID") },
          {
            label: "Delete…",
            isDangerous: true,
            run: () => {
              open.value = "delete";
            },
          },
        ]}
      >
        <Icon name="dots" />
      </Menu>
      {open.value === "change" && <StoreForm old={store} onClose={close} onSaved={onChanged} />}
      {open.value === "delete" && (
        <ConfirmDialog
          title={`Delete ${nameOf(store)}?`}
          action="Delete"
          onConfirm={() =>
            request(pathOf(store.id), { method: "DELETE" }).then(() => navigate("files/stores", { replace: true }))
          }
          onClose={close}
        >
          This permanently deletes the vector store with its index. The files themselves stay.
        </ConfirmDialog>
      )}
    </>
  );
}
