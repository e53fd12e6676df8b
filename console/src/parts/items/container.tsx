/** Containers that items name, and files in them. */
import { useSignal } from "@preact/signals";
import { containerContent } from "../../api/containers.ts";
import { saveBlob } from "../copy.ts";
import { Icon } from "../icons.tsx";
import { visible } from "../raw.tsx";
import { Link } from "../router.tsx";
import "./container.css";

const ID = /^cntr_\w{1,80}$/;
const ID_LENGTH = 14; // characters of an id

/** A link to the page of a container; an invalid id is shown as text. */
export function ContainerLink({ id }: { id: unknown }) {
  if (typeof id !== "string" || id === "") return null;
  if (!ID.test(id)) return <span class="cut">{visible(id.slice(0, 100))}</span>;
  const text = id.length > ID_LENGTH ? `${id.slice(0, ID_LENGTH)}…` : id;
  return (
    <Link to={`containers/${id}`} class="link mono" title={id} label={`Container ${text}`}>
      {text}
    </Link>
  );
}

interface Props {
  container: string;
  file: string;
  name: string;
}

/** A button that saves a file of a container; the reason for a failure is shown next to it. */
export function FileButton({ container, file, name }: Props) {
  const error = useSignal("");
  const load = () => {
    error.value = "";
    containerContent(container, file).then(
      (content) => saveBlob(name, content),
      (reason) => {
        error.value = (reason as Error).message;
      },
    );
  };
  return (
    <>
      <button type="button" class="file-button" title={file} onClick={load}>
        <Icon name="download" />
        <span class="visually-hidden">Download </span>
        {visible(name)}
      </button>
      {error.value && (
        <span class="error-text" role="alert">
          {error.value}
        </span>
      )}
    </>
  );
}
