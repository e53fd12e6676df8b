/** The confirmation before a container is killed. */
import { type Container, killContainer } from "../../api/containers.ts";
import { isOwn } from "../../api/files.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";

interface Props {
  container: Pick<Container, "id" | "tenant" | "name">;
  onKilled: () => void;
  onClose: () => void;
}

/** The dialog. */
export function KillDialog({ container, onKilled, onClose }: Props) {
  return (
    <ConfirmDialog
      title={`Kill ${container.name || container.id}?`}
      action="Kill"
      onConfirm={() => killContainer(container.id, tenantOf(container)).then(onKilled)}
      onClose={onClose}
    >
      Code that runs in the container ends now. Its variables and its files are permanently deleted.
    </ConfirmDialog>
  );
}

/** Return the tenant that requests about a container name: none for the reader's own. */
export function tenantOf(container: Pick<Container, "tenant">): string {
  return isOwn(container) ? "" : (container.tenant ?? "");
}

/** Return the address of a container's page. */
export function addressOf(container: Pick<Container, "id" | "tenant">): string {
  const tenant = tenantOf(container);
  return `containers/${container.id}${tenant && `?tenant=${encodeURIComponent(tenant)}`}`;
}
