/** Passages that a search of files found. */
import type { Attributes, Hit } from "../../api/files.ts";
import { Icon } from "../icons.tsx";
import { visible } from "../raw.tsx";
import "./hits.css";

const SHORT = 600; // characters of a passage that are shown before the reader opens it

/** The passages, best first, each with its file, score and attributes. */
export function Hits({ hits }: { hits: readonly Hit[] }) {
  if (hits.length === 0) return null;
  return (
    <ol class="search-hits" aria-label="Passages">
      {hits.map((hit, at) => (
        <li key={`${at} ${hit.file_id}`}>
          <div class="search-hit-head">
            <Icon name="files" />
            <b class="cut">{visible(hit.filename || hit.file_id)}</b>
            <span class="push num small" title={`Score ${hit.score}`}>
              <span class="visually-hidden">Score </span>
              {hit.score.toFixed(3)}
            </span>
          </div>
          <AttributeTags attributes={hit.attributes} />
          <Passage text={hit.text} />
        </li>
      ))}
    </ol>
  );
}

/** A text of which the reader sees the beginning, and all of it on demand. */
export function Passage({ text }: { text: string }) {
  if (text.length <= SHORT) return <p class="passage">{visible(text)}</p>;
  return (
    <details class="passage">
      <summary>
        {visible(text.slice(0, SHORT))}
        <span class="passage-more">… show all</span>
      </summary>
      {visible(text.slice(SHORT))}
    </details>
  );
}

/** The attributes of a file, if it has some. */
export function AttributeTags({ attributes }: { attributes: Attributes | null }) {
  const all = Object.entries(attributes ?? {});
  if (all.length === 0) return null;
  return (
    <p class="tags">
      {all.map(([name, value]) => (
        <span key={name} class="tag attribute">
          {visible(`${name}: ${value}`)}
        </span>
      ))}
    </p>
  );
}
