/** API keys: list, create, change, rotate and revoke. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { session } from "../../api/session.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { day, exact } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { Link } from "../../parts/router.tsx";
import { SecretDialog } from "../../parts/secret.tsx";
import { ListTable } from "../../parts/table.tsx";
import { Top } from "../../parts/top.tsx";
import { KeyForm } from "./form.tsx";
import { type ApiKey, limitsOf } from "./types.ts";
import "./page.css";

const TONES = { active: "good", expired: "warn", revoked: "bad" } as const;

const COLUMNS = ["Name", "Key", "Tenant", "Role", "Status", "Limits", "Created", "Expires"];

type Open = { is: "form"; key?: ApiKey } | { is: "revoke" | "rotate"; key: ApiKey } | undefined;

/** The page; only administrators change keys. */
export function KeysPage() {
  const list = usePaged<ApiKey>("/admin/v1/keys");
  const open = useSignal<Open>(undefined);
  const secret = useSignal<string | undefined>(undefined);
  const isAdmin = session().role === "admin";
  const show = (next: Open) => {
    open.value = next;
  };
  const close = () => show(undefined);
  const saved = (key: ApiKey) => {
    secret.value = key.key;
    list.reload();
  };
  return (
    <>
      <Top title="Keys">
        <span class="push" />
        {isAdmin && (
          <button type="button" class="btn first" onClick={() => show({ is: "form" })}>
            <Icon name="plus" />
            Create a key
          </button>
        )}
      </Top>
      <section class="sheet" aria-label="API keys">
        {list.items.length > 0 && <KeyTable keys={list.items} isAdmin={isAdmin} onOpen={show} />}
        <ListEnd list={list}>
          <h2>No keys yet</h2>
          <p>Without a key, this server answers requests from this machine alone. The first key opens it to others:</p>
          <pre>antiphon keys create --name NAME --role admin</pre>
        </ListEnd>
      </section>
      {open.value?.is === "form" && <KeyForm old={open.value.key} onClose={close} onSaved={saved} />}
      {(open.value?.is === "revoke" || open.value?.is === "rotate") && (
        <EndDialog
          key={open.value.key.id}
          action={open.value.is}
          apiKey={open.value.key}
          onClose={close}
          onDone={saved}
        />
      )}
      {secret.value !== undefined && (
        <SecretDialog
          title="API key"
          secret={secret.value}
          onClose={() => {
            secret.value = undefined;
          }}
        />
      )}
    </>
  );
}

function KeyTable({
  keys,
  isAdmin,
  onOpen,
}: {
  keys: readonly ApiKey[];
  isAdmin: boolean;
  onOpen: (open: Open) => void;
}) {
  const { currency } = session();
  return (
    <ListTable label="Table of API keys" caption="API keys" columns={COLUMNS} hasActions asCards>
      {keys.map((key) => (
        <tr key={key.id}>
          <th scope="row" class="row-name">
            <Link to={`?q=${encodeURIComponent(`key:${key.id}`)}`}>{key.name || key.id}</Link>
          </th>
          <td class="mono" data-label="Key">
            {key.shown}
          </td>
          <td data-label="Tenant">{key.tenant}</td>
          <td data-label="Role">{key.role}</td>
          <td data-label="Status">
            <span class={`tag ${TONES[key.status]}`}>{key.status}</span>
          </td>
          <td class="limits" data-label="Limits">
            {limitsOf(key, currency)}
          </td>
          <td data-label="Created" title={exact(key.created_at * 1000)}>
            {day(key.created_at * 1000)}
          </td>
          <td data-label="Expires">{key.expires_at === null ? "never" : day(key.expires_at * 1000)}</td>
          <td class="actions">
            {isAdmin && key.status !== "revoked" && (
              <Menu
                class="btn bare icon"
                label={`Actions for ${key.name || key.id}`}
                actions={[
                  { label: "Change…", run: () => onOpen({ is: "form", key }) },
                  { label: "Rotate…", run: () => onOpen({ is: "rotate", key }) },
                  { label: "Revoke…", run: () => onOpen({ is: "revoke", key }), isDangerous: true },
                ]}
              >
                <Icon name="dots" />
              </Menu>
            )}
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

interface EndProps {
  action: "revoke" | "rotate";
  apiKey: ApiKey;
  onClose: () => void;
  onDone: (key: ApiKey) => void;
}

function EndDialog({ action, apiKey, onClose, onDone }: EndProps) {
  const name = apiKey.name || apiKey.shown;
  const path = `/admin/v1/keys/${apiKey.id}`;
  if (action === "rotate") {
    const rotate = () => request<ApiKey>(`${path}/rotate`, { method: "POST", body: {} }).then(onDone);
    return (
      <ConfirmDialog title={`Rotate ${name}?`} action="Rotate" onConfirm={rotate} onClose={onClose}>
        The key gets a new secret, which is shown once. The old secret stops working now.
      </ConfirmDialog>
    );
  }
  const revoke = () => request<ApiKey>(path, { method: "DELETE" }).then(onDone);
  return (
    <ConfirmDialog title={`Revoke ${name}?`} action="Revoke" onConfirm={revoke} onClose={onClose}>
      Requests with this key are rejected from now on, and its sessions end. This cannot be undone.
    </ConfirmDialog>
  );
}
