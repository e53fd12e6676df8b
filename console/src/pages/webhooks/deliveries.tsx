/** Deliveries that wait or have failed, each with another attempt at hand. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { session } from "../../api/session.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { clock, exact, plural } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { prose } from "../../parts/prose.tsx";
import type { Delivery } from "./types.ts";

const STATES = ["", "pending", "failed"] as const;
const NAMES = { "": "All", pending: "Pending", failed: "Failed" };

/** The deliveries. Successful ones are not kept. */
export function Deliveries() {
  const status = useSignal<(typeof STATES)[number]>("");
  const list = usePaged<Delivery>("/admin/v1/webhook_deliveries", status.value ? { status: status.value } : {});
  const error = useSignal<unknown>(undefined);
  const retried = useSignal("");
  const retry = ({ id, endpoint_name }: Delivery) => {
    error.value = undefined;
    request(`/admin/v1/webhook_deliveries/${id}/retry`, { method: "POST" }).then(
      () => {
        retried.value = `The delivery to ${endpoint_name} is attempted now.`;
        list.reload();
      },
      (reason) => {
        error.value = reason;
      },
    );
  };
  return (
    <section class="sheet" aria-label="Deliveries">
      <div class="head">
        <h2>Deliveries</h2>
        <div class="segments push" role="group" aria-label="Status">
          {STATES.map((each) => (
            <button
              type="button"
              key={each}
              aria-pressed={status.value === each}
              onClick={() => {
                status.value = each;
              }}
            >
              {NAMES[each]}
            </button>
          ))}
        </div>
      </div>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
      {retried.value && (
        <p class="notice" role="status">
          {retried.value}
        </p>
      )}
      {list.items.length > 0 && (
        <ul class="list-lines">
          {list.items.map((delivery) => (
            <li key={delivery.id}>
              <div class="grow">
                <p>
                  <span class={`tag ${delivery.status === "failed" ? "bad" : "accent"}`}>{delivery.status}</span>{" "}
                  <b>{delivery.event_type}</b> to {delivery.endpoint_name}
                  {delivery.tenant && <span class="muted"> · {delivery.tenant}</span>}
                </p>
                <p class="muted small" title={exact(delivery.created_at * 1000)}>
                  {clock(delivery.created_at * 1000)}, {plural(delivery.attempts, "attempt")}
                  {delivery.next_attempt_at !== null && `, next at ${clock(delivery.next_attempt_at * 1000)}`}
                </p>
                {delivery.last_error && <p class="error-text">{prose(delivery.last_error)}</p>}
              </div>
              {session().role === "admin" && (
                <button type="button" class="btn" onClick={() => retry(delivery)}>
                  Retry now
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <ListEnd list={list}>
        <h2>Nothing waits and nothing failed</h2>
        <p>Deliveries that succeeded are not kept.</p>
      </ListEnd>
    </section>
  );
}
