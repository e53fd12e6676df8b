/** Files and vector stores: both lists, and one vector store. */
import type { ComponentChildren } from "preact";
import { Link } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import type { PageProps } from "../routes.ts";
import { FileList } from "./file_list.tsx";
import { StorePage } from "./store.tsx";
import { StoreList } from "./store_list.tsx";

/** The page; the path names a list, or a vector store by its id. */
export function FilesPage({ rest }: PageProps) {
  if (rest === "") return <FileList />;
  if (rest === "stores") return <StoreList />;
  return <StorePage id={rest} />;
}

/** The head of both lists, with the way from one to the other. */
export function ListTop({ title, children }: { title: "Files" | "Vector stores"; children?: ComponentChildren }) {
  return (
    <Top title={title}>
      <nav class="segments" aria-label="Lists">
        <Link to="files" current={title === "Files"}>
          Files
        </Link>
        <Link to="files/stores" current={title === "Vector stores"}>
          Vector stores
        </Link>
      </nav>
      <span class="push" />
      {children}
    </Top>
  );
}
