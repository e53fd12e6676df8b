/** What the list of containers and one of them share. */
import type { Container } from "../../api/containers.ts";
import { clock, exact } from "../../parts/format.ts";

/** The status of a container; `busy` while a call runs in it. */
export function StateTag({ container: { status, is_busy } }: { container: Pick<Container, "status" | "is_busy"> }) {
  if (status !== "running") return <span class="tag">{status}</span>;
  return is_busy ? <span class="tag accent">busy</span> : <span class="tag good">running</span>;
}

/** A time of a container, in seconds. */
export function When({ at }: { at: number }) {
  return <span title={exact(at * 1000)}>{clock(at * 1000)}</span>;
}
