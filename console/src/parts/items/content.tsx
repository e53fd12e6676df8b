/** The content of a message: texts, images and files. */
import type { Json } from "../../api/types.ts";
import { Icon } from "../icons.tsx";
import { ExternalLink, Markdown, safeAddress } from "../markdown/view.tsx";
import { visible } from "../raw.tsx";
import { FileButton } from "./container.tsx";
import "./content.css";
import { Folded } from "./folded.tsx";

/** Return the parts of a message's content, which may be a text alone. */
export function partsOf(content: unknown): Json[] {
  if (typeof content === "string") return [{ type: "input_text", text: content }];
  return Array.isArray(content) ? (content as Json[]) : [];
}

/** The parts of a message. */
export function Content({ parts, ...rest }: Omit<PartProps, "part"> & { parts: Json[] }) {
  return (
    <>
      {parts.map((part, at) => (
        <Part key={at} part={part} {...rest} />
      ))}
    </>
  );
}

interface PartProps {
  part: Json;
  isMarkdown: boolean;
  /** Whether the text is being written. */
  isGrowing: boolean;
}

function Part({ part, isMarkdown, isGrowing }: PartProps) {
  if (part.type === "input_image") return <Picture part={part} />;
  if (part.type === "input_file") return <Chip icon="attach" text={String(part.filename ?? part.file_id ?? "File")} />;
  if (part.type === "refusal") return <p class="notice warn">The model refused: {String(part.refusal)}</p>;
  const text = String(part.text ?? "");
  return (
    <>
      <Folded text={text} isGrowing={isGrowing}>
        {(displayed) =>
          isMarkdown ? (
            <Markdown text={displayed} />
          ) : (
            <p class="markdown pre" dir="auto">
              {displayed}
            </p>
          )
        }
      </Folded>
      <Sources annotations={Array.isArray(part.annotations) ? (part.annotations as Json[]) : []} />
    </>
  );
}

function Picture({ part }: { part: Json }) {
  const url = typeof part.image_url === "string" ? part.image_url : "";
  if (/^data:image\/(png|jpeg|gif|webp);/.test(url)) {
    return (
      <span class="picture">
        <img src={url} alt="Sent by the user" />
        <span>Image</span>
      </span>
    );
  }
  const address = safeAddress(url);
  return <Chip icon="image" text={address ? `Image at ${address.host}` : String(part.file_id ?? "Image")} href={url} />;
}

function Chip({ icon, text, href }: { icon: "image" | "attach"; text: string; href?: string }) {
  return (
    <span class="picture">
      <Icon name={icon} />
      {href ? <ExternalLink href={href} text={text} /> : <span>{visible(text)}</span>}
    </span>
  );
}

/** Pages and files that the text cites, each once; files that code made can be downloaded. */
function Sources({ annotations }: { annotations: Json[] }) {
  const pages = annotations.filter(({ type, url }) => type === "url_citation" && typeof url === "string");
  const files = new Map(
    annotations.filter(({ type }) => type === "file_citation").map((each) => [String(each.file_id), each]),
  );
  const created = new Map(
    annotations.filter(({ type }) => type === "container_file_citation").map((each) => [String(each.file_id), each]),
  );
  const sources = [...pages, ...files.values(), ...created.values()];
  if (sources.length === 0) return null;
  return (
    <ol class="sources" aria-label="Sources">
      {sources.map((source, at) => (
        <li key={at}>
          <span class="citation">{at + 1}</span> <Source source={source} />
        </li>
      ))}
    </ol>
  );
}

function Source({ source: { type, url, title, filename, file_id: id, container_id: container } }: { source: Json }) {
  if (type === "url_citation") return <ExternalLink href={String(url)} text={String(title ?? url)} />;
  const name = String(filename ?? id);
  if (type === "container_file_citation") {
    return <FileButton container={String(container)} file={String(id)} name={name} />;
  }
  return (
    <span class="file-source" title={String(id)}>
      {visible(name)}
    </span>
  );
}
