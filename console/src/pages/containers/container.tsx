/** One container: its state, its files, and the calls that ran in it. */
import { useSignal } from "@preact/signals";
import { type ContainerDetails, getContainer } from "../../api/containers.ts";
import { isOwn } from "../../api/files.ts";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { bytes, count } from "../../parts/format.ts";
import { useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { useRefresh } from "../../parts/poll.ts";
import { visible } from "../../parts/raw.tsx";
import { navigate, query } from "../../parts/router.tsx";
import { seesTenants } from "../../parts/tenant.tsx";
import { OneTop } from "../../parts/top.tsx";
import { LastCalls } from "./calls.tsx";
import { ContainerFiles } from "./files.tsx";
import { KillDialog } from "./kill.tsx";
import { canKill } from "./list.tsx";
import { StateTag, When } from "./state.tsx";
import "./container.css";

/** The page; it is renewed every five seconds. */
export function ContainerPage({ id }: { id: string }) {
  const tenant = query.value.get("tenant") ?? "";
  const { data: container, error, reload } = useLoad((signal) => getContainer(id, tenant, signal), [id, tenant]);
  const isKilling = useSignal(false);
  useRefresh(reload, [container, error]);
  const name = container?.name || id;
  return (
    <>
      <OneTop list="Containers" to="containers" name={name}>
        <button type="button" class="btn wide" onClick={() => void copy(id, "ID")}>
          Copy ID
        </button>
        {container && canKill(container) && (
          <button
            type="button"
            class="btn bad"
            onClick={() => {
              isKilling.value = true;
            }}
          >
            Kill
          </button>
        )}
      </OneTop>
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <Loading data={container} error={error} />
      {container && (
        <div class="cards">
          <Facts container={container} />
          {!isOwn(container) && (
            <p class="notice">
              This container belongs to the tenant {container.tenant}. To open its files, sign in with a key of that
              tenant.
            </p>
          )}
          <ContainerFiles container={container} onChanged={reload} />
          <LastCalls key={container.calls} container={container} />
        </div>
      )}
      {container && isKilling.value && (
        <KillDialog
          container={container}
          onKilled={() => navigate("containers", { replace: true })}
          onClose={() => {
            isKilling.value = false;
          }}
        />
      )}
    </>
  );
}

function Worker({ name }: { name: string }) {
  return name ? (
    <span class="worker" title={name}>
      {visible(name)}
    </span>
  ) : (
    "—"
  );
}

function Facts({ container }: { container: ContainerDetails }) {
  const facts = [
    ["Status", <StateTag key="status" container={container} />],
    ["Started", <When key="started" at={container.created_at} />],
    ["Last used", <When key="used" at={container.last_active_at} />],
    ["Memory limit", container.memory_limit],
    ["Worker", <Worker key="worker" name={container.worker} />],
    ["Calls", count(container.calls)],
    ["Size", bytes(container.bytes)],
    ...(seesTenants() && container.tenant !== null ? [["Tenant", container.tenant]] : []),
  ];
  return (
    <section class="sheet" aria-label="State">
      <dl class="store-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="container-id mono muted small">{container.id}</p>
    </section>
  );
}
