/** Sentences of the server: what stands between backticks is code, and IDs lead to their responses. */
import type { ComponentChildren } from "preact";
import { visible } from "./raw.tsx";
import { Link } from "./router.tsx";
import "./prose.css";

/** IDs of responses and requests of this server; those of others have other forms. */
const ID = /\b((?:resp|req)_[0-9a-f]{48})\b/;

/** Return a sentence as nodes; characters that hide or reorder others are visible. */
export function prose(text: string): ComponentChildren[] {
  return text
    .split(/`([^`]+)`/)
    .map((part, at) => (at % 2 === 1 ? <code key={at}>{withLinks(part)}</code> : withLinks(part)));
}

function withLinks(text: string): ComponentChildren[] {
  return text.split(ID).map((part, at) =>
    at % 2 === 1 ? (
      <Link key={at} to={`r/${part}`} class="id-link">
        {part}
      </Link>
    ) : (
      visible(part)
    ),
  );
}
