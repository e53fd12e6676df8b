/** A request as code that sends exactly this request: curl, Python and TypeScript. */
import type { Json } from "../api/types.ts";
import { bracketed } from "./brackets.ts";

/** The languages of the code. */
export const LANGUAGES = ["curl", "Python", "TypeScript", "JSON"] as const;

/** One of the languages. */
export type Language = (typeof LANGUAGES)[number];

/** Return code that sends `body` to `POST BASE/responses`. */
export function snippet(language: Language, body: Json, base: string): string {
  return WRITERS[language](body, base);
}

const WRITERS: Record<Language, (body: Json, base: string) => string> = {
  curl: curlOf,
  Python: pythonOf,
  TypeScript: typescriptOf,
  JSON: (body) => JSON.stringify(body, null, 2),
};

function curlOf(body: Json, base: string): string {
  const data = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return [
    `curl ${base}/responses${body.stream ? " --no-buffer" : ""} \\`,
    '  -H "Authorization: Bearer $OPENAI_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${data}'`,
  ].join("\n");
}

/** Parameters that the SDKs do not know go into `extra_body`. */
const OWN = new Set(["antiphon"]);

function pythonOf(body: Json, base: string): string {
  const known = Object.entries(body).filter(([name]) => !OWN.has(name));
  const own = Object.entries(body).filter(([name]) => OWN.has(name));
  const lines = known.map(([name, value]) => `    ${name}=${python(value, 1)},`);
  if (own.length > 0) lines.push(`    extra_body=${python(Object.fromEntries(own), 1)},`);
  const result = body.stream ? "stream" : "response";
  const use = body.stream ? ["for event in stream:", "    print(event)"] : ["print(response.output_text)"];
  return [
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${python(base, 0)})`,
    `${result} = client.responses.create(`,
    ...lines,
    ")",
    ...use,
  ].join("\n");
}

/** Return a JSON value as a Python expression. */
export function python(value: unknown, depth: number): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return pythonText(JSON.stringify(value));
  const parts = Array.isArray(value)
    ? value.map((each) => python(each, depth + 1))
    : Object.entries(value).map(([name, each]) => `${pythonText(JSON.stringify(name))}: ${python(each, depth + 1)}`);
  return bracketed(parts, Array.isArray(value) ? "[]" : "{}", depth, "    ");
}

/** JSON writes characters beyond U+FFFF as they are and lone surrogates as \uXXXX; Python reads both in the same way. */
function pythonText(json: string): string {
  return json.replaceAll("\\/", "/").replaceAll("\u007f", "\\x7f");
}

function typescriptOf(body: Json, base: string): string {
  const result = body.stream ? "stream" : "response";
  const use = body.stream
    ? ["for await (const event of stream) {", "  console.log(event);", "}"]
    : ["console.log(response.output_text);"];
  return [
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: ${JSON.stringify(base)} });`,
    `const ${result} = await client.responses.create(${typescript(body, 0)});`,
    ...use,
  ].join("\n");
}

/** Return a JSON value as a TypeScript expression. */
export function typescript(value: unknown, depth: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Array.isArray(value)
    ? value.map((each) => typescript(each, depth + 1))
    : Object.entries(value).map(([name, each]) => `${property(name)}: ${typescript(each, depth + 1)}`);
  return bracketed(parts, Array.isArray(value) ? "[]" : "{}", depth, "  ");
}

/** `__proto__` as a plain name would set the prototype. */
function property(name: string): string {
  if (name === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
