/** Names of API keys in filters. Filters have IDs, because several keys can have the same name. */
import { loadKeys } from "../api/keys.ts";
import { useLoad } from "./load.ts";

const ID = /\bkey_\w+/g;

/** Return a function that writes names in place of the IDs in a part of this line; an ID without a known name stays. */
export function useKeyNames(line: string): (text: string) => string {
  const hasId = line.includes("key:key_");
  const { data } = useLoad(async (signal) => (hasId ? loadKeys(signal) : []), [hasId]);
  const names = new Map(data?.map(({ id, name }) => [id, name]));
  return (text) => text.replace(ID, (id) => names.get(id) || id);
}
