/** Background responses that wait until the server has nothing else to do. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { clock, count, exact } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { useRefresh } from "../../parts/poll.ts";
import { visible } from "../../parts/raw.tsx";
import { Link } from "../../parts/router.tsx";
import { ListTable } from "../../parts/table.tsx";
import { seesTenants, TenantCell, withTenant } from "../../parts/tenant.tsx";
import { Top } from "../../parts/top.tsx";
import "./page.css";

const PATH = "/admin/v1/deferred_responses";
const COLUMNS = ["Response", "Model", "Waits for", "Begins by", "Needed by", "Attempts"];

/** One of them. Times are seconds since the epoch. */
interface Deferred {
  id: string;
  tenant: string | null;
  model: string | null;
  completion_window: string | null;
  created_at: number;
  begin_by: number;
  due_at: number;
  waits_for: "idle_slot" | "any_slot";
  attempts: number;
  crashes: number;
  input_preview: string | null;
}

const WAITS = { idle_slot: "an idle slot", any_slot: "any free slot" } as const;

/** The page; it is renewed every five seconds. */
export function DeferredPage() {
  const list = usePaged<Deferred>(PATH);
  const doomed = useSignal<Deferred | undefined>(undefined);
  useRefresh(list.refresh, [list.items, list.error]);
  return (
    <>
      <Top title="Deferred" />
      <section class="sheet" aria-label="Deferred responses">
        {list.items.length > 0 && (
          <ListTable
            label="Table of deferred responses"
            caption="Background responses that wait, oldest first"
            columns={withTenant(COLUMNS)}
            hasActions
            asCards
          >
            {list.items.map((response) => (
              <Row
                key={response.id}
                response={response}
                onCancel={() => {
                  doomed.value = response;
                }}
              />
            ))}
          </ListTable>
        )}
        <ListEnd list={list}>
          <h2>Nothing waits for its time</h2>
          <p>A background response that is not urgent says by when it is needed, and waits here for an idle slot:</p>
          <pre>{'"background": true, "background_options": {"completion_window": "2h"}'}</pre>
        </ListEnd>
      </section>
      {doomed.value && (
        <CancelDialog
          response={doomed.value}
          onDone={list.refresh}
          onClose={() => {
            doomed.value = undefined;
          }}
        />
      )}
    </>
  );
}

interface RowProps {
  response: Deferred;
  onCancel: () => void;
}

function Row({ response, onCancel }: RowProps) {
  const { id, model, completion_window, begin_by, due_at, waits_for, attempts, crashes, tenant, input_preview } =
    response;
  return (
    <tr>
      <th scope="row" class="row-name deferred-name">
        <Link to={`r/${id}`}>{visible(input_preview ?? id)}</Link>
        {input_preview && <small class="muted mono">{id}</small>}
      </th>
      <td data-label="Model">{model ? visible(model) : "—"}</td>
      <td data-label="Waits for">
        <span>
          {WAITS[waits_for]}
          {completion_window && <small class="muted"> within {completion_window}</small>}
        </span>
      </td>
      <td data-label="Begins by" title={exact(begin_by * 1000)}>
        {clock(begin_by * 1000)}
      </td>
      <td data-label="Needed by" title={exact(due_at * 1000)}>
        {clock(due_at * 1000)}
      </td>
      <td data-label="Attempts">
        <span>
          {count(attempts)}
          {crashes > 0 && <small class="muted">, {count(crashes)} crashed</small>}
        </span>
      </td>
      <TenantCell tenant={tenant} />
      <td class="actions">
        <button type="button" class="btn" aria-label={`Cancel ${id}`} onClick={onCancel}>
          Cancel
        </button>
      </td>
    </tr>
  );
}

function CancelDialog({ response, onDone, onClose }: { response: Deferred; onDone: () => void; onClose: () => void }) {
  const { id, tenant } = response;
  const cancel = () => {
    const query = { tenant: seesTenants() ? (tenant ?? undefined) : undefined };
    return request(`${PATH}/${id}/cancel`, { method: "POST", query }).then(onDone);
  };
  return (
    <ConfirmDialog title="Cancel this response?" action="Cancel it" onConfirm={cancel} onClose={onClose}>
      <code>{id}</code> ends now with the status cancelled. It is not run.
    </ConfirmDialog>
  );
}
