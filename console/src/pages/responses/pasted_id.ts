/** IDs as they are pasted. */

const ID = "[a-z]+[_-](?=[A-Za-z]*\\d)[0-9A-Za-z]{8,}";
/** An ID alone, or as logs and headers show it: `x-request-id: req_…`, `"request_id":"req_…",`. */
const PASTED = new RegExp(`^["'{\\s]*(?:(?:x-)?[a-z]+[-_]?id["']?\\s*[:=]\\s*)?["']?(${ID})["',}\\s]*$`, "i");

/** Return the ID that a text is, with or without the name of its field; undefined for other texts. */
export function idIn(text: string): string | undefined {
  return PASTED.exec(text)?.[1];
}
