/** Requests about containers of code. Lists come from `/admin/v1`, files from `/v1`. */
import { request, send } from "./client.ts";

/** The endpoint of all containers that the reader sees. */
export const CONTAINERS = "/admin/v1/containers";

/** The endpoint of containers of the reader's own tenant. */
export const OWN_CONTAINERS = "/v1/containers";

/** A container of a list. Times are seconds since the epoch; `tenant` is null without API keys. */
export interface Container {
  id: string;
  tenant: string | null;
  name: string;
  status: "running" | "expired";
  created_at: number;
  last_active_at: number;
  memory_limit: string;
  /** The worker with its newest kernel, empty where none was started. */
  worker: string;
  calls: number;
  /** Whether a call runs in it now. */
  is_busy: boolean;
  files: number;
  bytes: number;
}

/** A file of a container. */
export interface ContainerFile {
  id: string;
  path: string;
  bytes: number;
  source: "user" | "assistant";
  created_at: number;
}

/** One container, with its files. */
export type ContainerDetails = Omit<Container, "files"> & { files: ContainerFile[] };

/** Return a container; a tenant other than the reader's own has to be named. */
export function getContainer(id: string, tenant: string, signal: AbortSignal): Promise<ContainerDetails> {
  return request(`${CONTAINERS}/${encodeURIComponent(id)}`, { query: { tenant }, signal });
}

/** End the code that runs in a container, and delete the container. */
export function killContainer(id: string, tenant: string): Promise<unknown> {
  return request(`${CONTAINERS}/${encodeURIComponent(id)}`, { method: "DELETE", query: { tenant } });
}

/** Return the content of a file of a container. */
export async function containerContent(id: string, fileId: string): Promise<Blob> {
  return (await send(`${fileOf(id, fileId)}/content`)).blob();
}

/** Delete a file of a container. */
export function deleteContainerFile(id: string, fileId: string): Promise<unknown> {
  return request(fileOf(id, fileId), { method: "DELETE" });
}

/** Return the name of a file in a container: the last part of its path. */
export function nameIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

function fileOf(id: string, fileId: string): string {
  return `${OWN_CONTAINERS}/${encodeURIComponent(id)}/files/${encodeURIComponent(fileId)}`;
}
