/** Webhook endpoints: create, test, rotate the secret, delete. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { Switch, TextField } from "../../parts/fields.tsx";
import { FormDialog } from "../../parts/form.tsx";
import { Icon } from "../../parts/icons.tsx";
import { announce } from "../../parts/live.tsx";
import { Menu } from "../../parts/menu.tsx";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { prose } from "../../parts/prose.tsx";
import { SecretDialog } from "../../parts/secret.tsx";
import { type Endpoint, EVENT_TYPES } from "./types.ts";

const PATH = "/v1/webhook_endpoints";

type Open = { is: "create" } | { is: "rotate" | "delete"; endpoint: Endpoint } | undefined;

/** The endpoints of the reader's tenant. */
export function Endpoints() {
  const list = usePaged<Endpoint>(PATH);
  const open = useSignal<Open>(undefined);
  const secret = useSignal<string | undefined>(undefined);
  const outcome = useSignal<{ text: string; isError: boolean } | undefined>(undefined);
  const show = (next: Open) => {
    open.value = next;
  };
  const close = () => show(undefined);
  const saved = (endpoint: Endpoint) => {
    secret.value = endpoint.signing_secret;
    list.reload();
  };
  const test = async (endpoint: Endpoint) => {
    try {
      const body = { event_type: endpoint.event_types[0] };
      const done = await request<{ status_code: number }>(`${PATH}/${endpoint.id}/test`, { method: "POST", body });
      outcome.value = { text: `${endpoint.name} answered ${done.status_code}.`, isError: false };
    } catch (error) {
      outcome.value = { text: `${endpoint.name}: ${(error as Error).message}`, isError: true };
    }
    announce(outcome.value.text);
  };
  return (
    <section class="sheet" aria-label="Endpoints">
      <div class="head">
        <h2>Endpoints</h2>
        <button type="button" class="btn push" onClick={() => show({ is: "create" })}>
          <Icon name="plus" />
          Add an endpoint
        </button>
      </div>
      {outcome.value && <p class={`notice ${outcome.value.isError ? "bad" : ""}`}>{prose(outcome.value.text)}</p>}
      {list.items.length > 0 && (
        <ul class="list-lines">
          {list.items.map((endpoint) => (
            <li key={endpoint.id}>
              <div class="grow">
                <b>{endpoint.name}</b> <span class="muted small">secret {endpoint.signing_secret_hint}</span>
                <p class="mono cut">{endpoint.url}</p>
                <p class="tags">
                  {endpoint.event_types.map((type) => (
                    <span key={type} class="tag">
                      {type}
                    </span>
                  ))}
                </p>
              </div>
              <Menu
                class="btn bare icon"
                label={`Actions for ${endpoint.name}`}
                actions={[
                  { label: "Send a test", run: () => void test(endpoint) },
                  { label: "Rotate the secret…", run: () => show({ is: "rotate", endpoint }) },
                  { label: "Delete…", run: () => show({ is: "delete", endpoint }), isDangerous: true },
                ]}
              >
                <Icon name="dots" />
              </Menu>
            </li>
          ))}
        </ul>
      )}
      <ListEnd list={list}>
        <h2>No endpoints</h2>
        <p>An endpoint receives an event when a background response ends. Add one with its URL.</p>
      </ListEnd>
      {open.value?.is === "create" && <CreateDialog onClose={close} onSaved={saved} />}
      {open.value?.is === "rotate" && <RotateDialog endpoint={open.value.endpoint} onClose={close} onSaved={saved} />}
      {open.value?.is === "delete" && (
        <DeleteDialog endpoint={open.value.endpoint} onClose={close} onDone={list.reload} />
      )}
      {secret.value !== undefined && (
        <SecretDialog
          title="Signing secret"
          secret={secret.value}
          onClose={() => {
            secret.value = undefined;
          }}
        />
      )}
    </section>
  );
}

interface SaveProps {
  onClose: () => void;
  onSaved: (endpoint: Endpoint) => void;
}

function CreateDialog({ onClose, onSaved }: SaveProps) {
  const name = useSignal("");
  const url = useSignal("");
  const types = useSignal<readonly string[]>(["response.completed", "response.failed"]);
  const send = () => {
    const body = { name: name.value, url: url.value, event_types: types.value };
    return request<Endpoint>(PATH, { method: "POST", body });
  };
  return (
    <FormDialog title="Add an endpoint" action="Add" send={send} onSaved={onSaved} onClose={onClose}>
      <TextField
        label="Name"
        value={name.value}
        onInput={(text) => {
          name.value = text;
        }}
      />
      <TextField
        label="URL"
        inputMode="url"
        placeholder="https://example.com/hook"
        value={url.value}
        onInput={(text) => {
          url.value = text;
        }}
      />
      <ul class="rows">
        {EVENT_TYPES.map((type) => (
          <Switch
            key={type}
            label={type}
            checked={types.value.includes(type)}
            onChange={(isOn) => {
              types.value = isOn ? [...types.value, type] : types.value.filter((each) => each !== type);
            }}
          />
        ))}
      </ul>
    </FormDialog>
  );
}

function RotateDialog({ endpoint, onClose, onSaved }: SaveProps & { endpoint: Endpoint }) {
  const rotate = () => {
    const body = { keep_old_secret_active_for_24_hours: true };
    return request<Endpoint>(`${PATH}/${endpoint.id}/rotate_secret`, { method: "POST", body }).then(onSaved);
  };
  return (
    <ConfirmDialog
      title={`Rotate the secret of ${endpoint.name}?`}
      action="Rotate"
      onConfirm={rotate}
      onClose={onClose}
    >
      The new secret is shown once. For 24 hours the old secret signs events too.
    </ConfirmDialog>
  );
}

function DeleteDialog({ endpoint, onClose, onDone }: { endpoint: Endpoint; onClose: () => void; onDone: () => void }) {
  const remove = () => request(`${PATH}/${endpoint.id}`, { method: "DELETE" }).then(onDone);
  return (
    <ConfirmDialog title={`Delete ${endpoint.name}?`} action="Delete" onConfirm={remove} onClose={onClose}>
      Deliveries to this endpoint that wait are deleted too.
    </ConfirmDialog>
  );
}
