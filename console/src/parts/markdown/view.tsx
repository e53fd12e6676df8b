/** Markdown as nodes: text stays text, links show their host, and no image is loaded. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { colouredCode } from "../code.tsx";
import { copy } from "../copy.ts";
import { type Block, type Inline, type PlacedBlock, parseGrown } from "./parse.ts";
import "./view.css";

const LONGEST = 100_000;

interface Parsed {
  text: string;
  blocks: readonly PlacedBlock[];
  nodes: readonly ComponentChildren[];
}

/**
 * A text of a model; one that is very long is shown as it is. While it grows, only its last blocks are parsed and
 * rendered again.
 */
export function Markdown({ text }: { text: string }) {
  const parsed = useRef<Parsed>({ text: "", blocks: [], nodes: [] });
  if (text.length > LONGEST) return <p class="markdown pre">{text}</p>;
  if (text !== parsed.current.text) parsed.current = parsedAfter(parsed.current, text);
  return (
    <div class="markdown" dir="auto">
      {parsed.current.nodes}
    </div>
  );
}

function parsedAfter(before: Parsed, text: string): Parsed {
  const blocks = parseGrown(text, text.startsWith(before.text) ? before.blocks : []);
  const nodes = blocks.map((each, at) => (each === before.blocks[at] ? before.nodes[at] : block(each.block, at)));
  return { text, blocks, nodes };
}

/** Return the address of a link that may be followed, or undefined: only the web, and mail. */
export function safeAddress(href: string): URL | undefined {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

function block(each: Block, key: number): ComponentChildren {
  switch (each.is) {
    case "paragraph":
      return <p key={key}>{each.inside.map(inline)}</p>;
    case "heading":
      return (
        <p key={key} class="markdown-heading">
          <strong>{each.inside.map(inline)}</strong>
        </p>
      );
    case "code":
      return <CodeBlock key={key} {...each} />;
    case "quote":
      return <blockquote key={key}>{each.blocks.map(block)}</blockquote>;
    case "rule":
      return <hr key={key} />;
    case "list":
      return list(each, key);
    case "table":
      return table(each, key);
  }
}

function CodeBlock({ text, language }: { text: string; language: string }) {
  return (
    <div class="code-block">
      <div class="code-block-head">
        <span>{language}</span>
        <button type="button" class="btn bare" aria-label="Copy this code" onClick={() => copy(text, "Code")}>
          Copy
        </button>
      </div>
      <pre tabIndex={0}>
        <code>{colouredCode(text)}</code>
      </pre>
    </div>
  );
}

function list({ isOrdered, start, items }: Extract<Block, { is: "list" }>, key: number) {
  const inside = items.map((blocks, at) => (
    <li key={at}>
      {blocks.map((each, inner) => (each.is === "paragraph" ? each.inside.map(inline) : block(each, inner)))}
    </li>
  ));
  return isOrdered ? (
    <ol key={key} start={start}>
      {inside}
    </ol>
  ) : (
    <ul key={key}>{inside}</ul>
  );
}

function table({ head, rows }: Extract<Block, { is: "table" }>, key: number) {
  const cell = (Tag: "th" | "td") => (inside: Inline[], at: number) => <Tag key={at}>{inside.map(inline)}</Tag>;
  return (
    <table key={key} tabIndex={0}>
      <thead>
        <tr>{head.map(cell("th"))}</tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>{row.map(cell("td"))}</tr>
        ))}
      </tbody>
    </table>
  );
}

function inline(each: Inline, key: number): ComponentChildren {
  switch (each.is) {
    case "text":
      return each.text;
    case "code":
      return <code key={key}>{each.text}</code>;
    case "strong":
      return <strong key={key}>{each.inside.map(inline)}</strong>;
    case "em":
      return <em key={key}>{each.inside.map(inline)}</em>;
    case "del":
      return <del key={key}>{each.inside.map(inline)}</del>;
    case "link":
      return <ExternalLink key={key} href={each.href} text={each.inside.map(inline)} />;
    case "image":
      return <ExternalLink key={key} href={each.href} text={`Image: ${each.alt || "no description"}`} />;
  }
}

/** A link to another site, with its host; one that leads nowhere safe is text. */
export function ExternalLink({ href, text }: { href: string; text: ComponentChildren }) {
  const url = safeAddress(href);
  if (!url) {
    return (
      <span>
        {text} <span class="link-host">({href})</span>
      </span>
    );
  }
  return (
    <span>
      <a href={url.href} target="_blank" rel="noreferrer noopener">
        {text}
      </a>{" "}
      <span class="link-host">({url.host || url.pathname})</span>
    </span>
  );
}
