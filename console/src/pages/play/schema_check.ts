/** Whether an answer fits its JSON Schema: the keywords that strict schemas have. */
import type { Json } from "../../api/types.ts";

const DEEPEST = 60;

/** Return where a value does not fit a schema, at most ten places; none where it fits. */
export function misfits(value: unknown, schema: Json, path = "$", depth = 0, root: Json = schema): string[] {
  if (depth > DEEPEST) return [];
  const target = resolved(schema, root);
  const found = [
    ...typeMisfits(value, target, path),
    ...choiceMisfits(value, target, path, depth, root),
    ...(isObject(value) ? objectMisfits(value, target, path, depth, root) : []),
    ...(Array.isArray(value) && isObject(target.items)
      ? value.flatMap((each, at) => misfits(each, target.items as Json, `${path}[${at}]`, depth + 1, root))
      : []),
  ];
  return found.slice(0, 10);
}

/** Return where a text is not JSON, or does not match a schema. */
export function textMisfits(text: string, schema: Json | undefined): string[] {
  try {
    const value: unknown = JSON.parse(text);
    return schema ? misfits(value, schema) : [];
  } catch (error) {
    return [`The output is not JSON: ${(error as Error).message}`];
  }
}

function typeMisfits(value: unknown, { type }: Json, path: string): string[] {
  if (type === undefined) return [];
  const names = Array.isArray(type) ? (type as string[]) : [String(type)];
  const isFit = names.some((name) => name === typeOf(value) || (name === "number" && typeOf(value) === "integer"));
  return isFit ? [] : [`${path} is ${typeOf(value)}, not ${names.join(" or ")}`];
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function choiceMisfits(value: unknown, schema: Json, path: string, depth: number, root: Json): string[] {
  const text = JSON.stringify(value);
  const values = "const" in schema ? [schema.const] : schema.enum;
  if (Array.isArray(values) && !values.some((each) => JSON.stringify(each) === text)) {
    return [`${path} is none of ${JSON.stringify(values).slice(0, 100)}`];
  }
  const choices = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  if (!Array.isArray(choices)) return [];
  const isFit = choices.some((each) => misfits(value, each, path, depth + 1, root).length === 0);
  return isFit ? [] : [`${path} fits none of its ${choices.length} schemas`];
}

function objectMisfits(value: Json, schema: Json, path: string, depth: number, root: Json): string[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${path}.${name} is missing`);
  const inside = Object.entries(value).flatMap(([name, each]) => {
    const own = Object.hasOwn(properties, name) ? (properties[name] as Json) : undefined;
    if (own) return misfits(each, own, `${path}.${name}`, depth + 1, root);
    return schema.additionalProperties === false ? [`${path}.${name} is not allowed`] : [];
  });
  return [...missing, ...inside];
}

function resolved(schema: Json, root: Json): Json {
  const reference = schema.$ref;
  if (typeof reference !== "string" || !reference.startsWith("#")) return schema;
  let found: unknown = root;
  for (const part of reference.slice(1).split("/").filter(Boolean)) found = isObject(found) ? found[part] : undefined;
  return isObject(found) ? found : {};
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
