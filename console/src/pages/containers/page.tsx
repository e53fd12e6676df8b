/** Containers of code: the list, and one of them. */
import type { PageProps } from "../routes.ts";
import { ContainerPage } from "./container.tsx";
import { ContainerList } from "./list.tsx";

/** The page; the path names a container by its id. */
export function ContainersPage({ rest }: PageProps) {
  return rest ? <ContainerPage id={rest} /> : <ContainerList />;
}
