/** The list of containers. */
import { useSignal } from "@preact/signals";
import { CONTAINERS, type Container } from "../../api/containers.ts";
import { isOwn } from "../../api/files.ts";
import { copy } from "../../parts/copy.ts";
import { bytes, count } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { useRefresh } from "../../parts/poll.ts";
import { visible } from "../../parts/raw.tsx";
import { Link } from "../../parts/router.tsx";
import { ListTable } from "../../parts/table.tsx";
import { seesTenants, TenantCell, withTenant } from "../../parts/tenant.tsx";
import { Top } from "../../parts/top.tsx";
import { addressOf, KillDialog } from "./kill.tsx";
import { StateTag, When } from "./state.tsx";

const COLUMNS = ["Name", "Status", "Started", "Last used", "Memory", "Worker", "Calls", "Files", "Size"];
const CLASSES = { Name: "", Status: "", Calls: "num wide", Files: "num", Size: "num wide" };

/** The list; it is renewed every five seconds. */
export function ContainerList() {
  const list = usePaged<Container>(CONTAINERS);
  const doomed = useSignal<Container | undefined>(undefined);
  useRefresh(list.refresh, [list.items, list.error]);
  return (
    <>
      <Top title="Containers" />
      <section class="sheet" aria-label="Containers">
        {list.items.length > 0 && (
          <ContainerTable
            containers={list.items}
            onKill={(container) => {
              doomed.value = container;
            }}
          />
        )}
        <ListEnd list={list}>
          <h2>No containers yet</h2>
          <p>
            A container runs the Python code and the shell commands of a model, and keeps their files. It starts with
            the first call of the tools code_interpreter and shell, which need a sandbox in the settings:
          </p>
          <pre>code_sandbox = "bubblewrap"</pre>
        </ListEnd>
      </section>
      {doomed.value && (
        <KillDialog
          container={doomed.value}
          onKilled={list.refresh}
          onClose={() => {
            doomed.value = undefined;
          }}
        />
      )}
    </>
  );
}

interface TableProps {
  containers: readonly Container[];
  onKill: (container: Container) => void;
}

function ContainerTable({ containers, onKill }: TableProps) {
  return (
    <ListTable
      label="Table of containers"
      caption="Containers, newest first"
      columns={withTenant(COLUMNS)}
      classes={CLASSES}
      usual="wide"
      hasActions
    >
      {containers.map((container) => (
        <tr key={container.id}>
          <th scope="row" class="row-name file-name">
            <Link to={addressOf(container)}>{visible(container.name || container.id)}</Link>
            {container.name && <small class="muted mono">{container.id}</small>}
          </th>
          <td>
            <StateTag container={container} />
          </td>
          <td class="wide">
            <When at={container.created_at} />
          </td>
          <td class="wide">
            <When at={container.last_active_at} />
          </td>
          <td class="wide">{container.memory_limit}</td>
          <td class="wide worker">{container.worker ? visible(container.worker) : "—"}</td>
          <td class="num wide">{count(container.calls)}</td>
          <td class="num">{count(container.files)}</td>
          <td class="num wide">{bytes(container.bytes)}</td>
          <TenantCell tenant={container.tenant} class="wide" />
          <td>
            <Menu
              class="btn bare icon"
              label={`Actions for ${container.name || container.id}`}
              actions={[
                { label: "Copy ID", run: () => void copy(container.id, "ID") },
                ...(canKill(container) ? [{ label: "Kill…", run: () => onKill(container), isDangerous: true }] : []),
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

/** Whether the reader may kill a container: an administrator each one, others those of their own tenant. */
export function canKill(container: Pick<Container, "tenant" | "status">): boolean {
  return container.status === "running" && (seesTenants() || isOwn(container));
}
