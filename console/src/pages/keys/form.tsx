/** The form that creates or changes a key. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import type { Json } from "../../api/types.ts";
import { Choice, TextField } from "../../parts/fields.tsx";
import { FormDialog } from "../../parts/form.tsx";
import { type ApiKey, BUDGETS, COUNTS, ROLES } from "./types.ts";

const ROLE_NOTES = {
  use: "Sends requests to the API. Cannot sign in to the console.",
  read: "Also reads the responses of its tenant in the console.",
  admin: "Reads all tenants, and changes keys and webhooks.",
};
const DAY = 86_400;

type Values = Record<string, string>;

interface Props {
  old: ApiKey | undefined;
  onClose: () => void;
  onSaved: (key: ApiKey) => void;
}

/** The dialog with the form; `old` is the key that it changes. */
export function KeyForm({ old, onClose, onSaved }: Props) {
  const role = useSignal<ApiKey["role"]>(old?.role ?? "use");
  const values = useSignal<Values>(valuesOf(old));
  const send = () => {
    const path = old ? `/admin/v1/keys/${old.id}` : "/admin/v1/keys";
    return request<ApiKey>(path, { method: "POST", body: bodyOf(values.value, role.value, old) });
  };
  const field = (name: string, label: string, note = "") => (
    <TextField
      key={name}
      label={label}
      note={note}
      value={values.value[name] ?? ""}
      onInput={(value) => {
        values.value = { ...values.value, [name]: value };
      }}
    />
  );
  return (
    <FormDialog
      title={old ? `Change ${old.name || old.shown}` : "Create a key"}
      action={old ? "Save" : "Create"}
      send={send}
      onSaved={onSaved}
      onClose={onClose}
    >
      <div class="pair">
        {field("name", "Name")}
        {!old && field("tenant", "Tenant")}
      </div>
      <Choice
        label="Role"
        values={ROLES}
        value={role.value}
        onChange={(value) => {
          role.value = value;
        }}
      />
      <p class="muted small">{ROLE_NOTES[role.value]}</p>
      <div class="pair">
        {[...COUNTS, ...BUDGETS].map((name) => field(name, titled(name), "empty: no limit"))}
        {field("models", "Models", "comma-separated, empty: all")}
        {field("days", "Days until it expires", old ? "empty: unchanged" : "empty: never")}
      </div>
    </FormDialog>
  );
}

function valuesOf(key: ApiKey | undefined): Values {
  if (!key) return { tenant: "default" };
  const limits = [...COUNTS, ...BUDGETS].map((name) => [name, key[name] === null ? "" : String(key[name])]);
  return { name: key.name, models: key.models.join(", "), ...Object.fromEntries(limits) };
}

/** Return the body of the request. Limits that are empty are none. */
export function bodyOf(values: Values, role: string, old: ApiKey | undefined): Json {
  const counts = COUNTS.map((name) => [name, values[name] ? Number(values[name]) : null]);
  const budgets = BUDGETS.map((name) => [name, values[name] || null]);
  return {
    name: values.name ?? "",
    ...(old ? {} : { tenant: values.tenant ?? "default" }),
    role,
    models: (values.models ?? "")
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean),
    ...Object.fromEntries([...counts, ...budgets]),
    ...(values.days ? { expires_in: Math.round(Number(values.days) * DAY) } : {}),
  };
}

function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
}
