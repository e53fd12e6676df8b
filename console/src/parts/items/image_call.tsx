/** An image that a model requested. */
import type { Item, Json } from "../../api/types.ts";
import { RawJson } from "../raw.tsx";
import { Passage } from "./hits.tsx";
import { Picture } from "./picture.tsx";
import { StatusTag, Turn } from "./turn.tsx";

const FACTS = ["action", "size", "quality", "background", "output_format"] as const;

/** An `image_generation_call`: the image, or the newest partial one while it is generated. */
export function ImageCall({ item }: { item: Item }) {
  const prompt = typeof item.revised_prompt === "string" ? item.revised_prompt : "";
  const isPartial = item.status === "generating" || item.status === "in_progress";
  const facts = FACTS.flatMap((name) => (typeof item[name] === "string" ? [String(item[name]).slice(0, 40)] : []));
  const error = item.error as Json | undefined;
  return (
    <Turn face="tool" icon="image" name="Image generation" aside={item.status && <StatusTag status={item.status} />}>
      {facts.length > 0 && <p class="muted small">{facts.join(", ")}</p>}
      {typeof item.result === "string" && item.result && (
        <Picture
          data={item.result}
          alt={prompt || "Generated image"}
          name="image"
          {...(isPartial ? { note: "Partial image" } : {})}
        />
      )}
      {prompt && <Passage text={prompt} />}
      {error &&
        (error.message ? <p class="error-text">{String(error.message)}</p> : <RawJson class="" value={error} />)}
    </Turn>
  );
}
