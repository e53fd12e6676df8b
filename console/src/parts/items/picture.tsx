/** Images that items contain. Only data URLs of raster images are shown: nothing is loaded from another host. */
import { useMemo } from "preact/hooks";
import { saveBlob } from "../copy.ts";
import { bytes } from "../format.ts";
import { Icon } from "../icons.tsx";
import "./picture.css";

const RASTER = /^data:image\/(png|jpeg|gif|webp);base64,/;
const LARGEST = 28_000_000; // characters of a URL that is shown: some 20 MB
const LONGEST_ALT = 1_000;

/** How the base64 of each format begins. */
const BEGINNINGS = { png: "iVBORw0KGgo", jpeg: "/9j/", gif: "R0lGOD", webp: "UklGR" } as const;

/** Return base64 as the URL of an image, by its first bytes; undefined where it is none that the page shows. */
export function imageUrl(base64: string): string | undefined {
  const found = Object.entries(BEGINNINGS).find(([, beginning]) => base64.startsWith(beginning));
  return found && `data:image/${found[0]};base64,${base64}`;
}

interface Props {
  /** The URL of the image, or its base64. */
  data: string;
  alt: string;
  /** The name under which it is saved, without its ending. */
  name: string;
  note?: string;
}

/** The image, with a button that saves it. */
export function Picture({ data, alt, name, note }: Props) {
  const url = useMemo(() => (RASTER.test(data) ? data : imageUrl(data)), [data]);
  if (!url || url.length > LARGEST) {
    return (
      <p class="muted small">
        <Icon name="image" /> {url ? `An image of ${bytes((url.length * 3) / 4)}, too large to show` : whyHidden(data)}
        {url && <SaveButton url={url} name={name} />}
      </p>
    );
  }
  return (
    <figure class="item-picture">
      <img src={url} alt={alt.slice(0, LONGEST_ALT)} decoding="async" />
      <figcaption>
        {note && <span>{note}</span>}
        <SaveButton url={url} name={name} />
      </figcaption>
    </figure>
  );
}

function SaveButton({ url, name }: { url: string; name: string }) {
  const ending = RASTER.exec(url)?.[1] ?? "png";
  return (
    <button type="button" class="file-button" onClick={() => saveBlob(`${name}.${ending}`, blobOf(url, ending))}>
      <Icon name="download" />
      Save the image
    </button>
  );
}

function whyHidden(data: string): string {
  return /^https?:/i.test(data) ? "An image at another host, not loaded" : "An image in a format that is not shown";
}

function blobOf(url: string, ending: string): Blob {
  const letters = atob(url.slice(url.indexOf(",") + 1));
  return new Blob([Uint8Array.from(letters, (letter) => letter.charCodeAt(0))], { type: `image/${ending}` });
}
