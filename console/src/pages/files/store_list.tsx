/** The list of vector stores. */
import { useSignal } from "@preact/signals";
import { isOwn, type VectorStore } from "../../api/files.ts";
import { bytes, clock, exact } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { usePolling } from "../../parts/poll.ts";
import { visible } from "../../parts/raw.tsx";
import { Link, navigate } from "../../parts/router.tsx";
import { ListTable } from "../../parts/table.tsx";
import { TenantCell, withTenant } from "../../parts/tenant.tsx";
import { ListTop } from "./page.tsx";
import { StoreForm } from "./store_form.tsx";
import { countsOf, nameOf, StatusTag } from "./store_parts.tsx";
import "./store_list.css";

/** The list, and the form for a new one. */
export function StoreList() {
  const list = usePaged<VectorStore>("/admin/v1/vector_stores");
  const isOpen = useSignal(false);
  const create = () => {
    isOpen.value = true;
  };
  usePolling(
    list.items.some(({ status }) => status === "in_progress"),
    list.refresh,
  );
  useShortcuts([{ keys: "n", does: "Create a vector store", run: create }]);
  return (
    <>
      <ListTop title="Vector stores">
        <button type="button" class="btn first" onClick={create}>
          <Icon name="plus" />
          <span>
            Create<span class="wide"> a vector store</span>
          </span>
        </button>
      </ListTop>
      <section class="sheet" aria-label="Vector stores">
        {list.items.length > 0 && <StoreTable stores={list.items} />}
        <ListEnd list={list}>
          <h2>No vector stores yet</h2>
          <p>A vector store makes files searchable, for file_search and for its own search endpoint. From a folder:</p>
          <pre>antiphon stores add ./documents</pre>
        </ListEnd>
      </section>
      {isOpen.value && (
        <StoreForm
          onClose={() => {
            isOpen.value = false;
          }}
          onSaved={({ id }) => navigate(`files/${id}`)}
        />
      )}
    </>
  );
}

function StoreTable({ stores }: { stores: readonly VectorStore[] }) {
  return (
    <ListTable
      label="Table of vector stores"
      caption="Vector stores, newest first"
      columns={withTenant(["Name", "Status", "Files", "Size", "Last active", "Expires"])}
      classes={{ Name: "", Status: "", Files: "", Size: "num wide" }}
      usual="wide"
    >
      {stores.map((store) => (
        <tr key={store.id}>
          <th scope="row" class="row-name file-name">
            <Link to={addressOf(store)}>{visible(nameOf(store))}</Link>
            {store.name && <small class="muted mono">{store.id}</small>}
          </th>
          <td>
            <StatusTag status={store.status} />
          </td>
          <td class="counts">{countsOf(store)}</td>
          <td class="num wide">{bytes(store.usage_bytes)}</td>
          <td class="wide" title={exact(store.last_active_at * 1000)}>
            {clock(store.last_active_at * 1000)}
          </td>
          <td class="wide" title={store.expires_at === null ? undefined : exact(store.expires_at * 1000)}>
            {store.expires_at === null ? "never" : clock(store.expires_at * 1000)}
          </td>
          <TenantCell tenant={store.tenant} class="wide" />
        </tr>
      ))}
    </ListTable>
  );
}

/** The address names the tenant where it is not the reader's own. */
function addressOf(store: VectorStore): string {
  const tenant = isOwn(store) ? "" : `?tenant=${encodeURIComponent(store.tenant ?? "")}`;
  return `files/${store.id}${tenant}`;
}
