/** What a reader chooses in the playground, and the request that it becomes. */
import type { Item, Json } from "../../api/types.ts";
import { STRUCK_OUT } from "../../parts/raw.tsx";

/** The efforts of reasoning; the empty one leaves it to the model. */
export const EFFORTS = ["auto", "none", "low", "medium", "high"] as const;

/** The formats of an output. */
export const FORMATS = ["text", "json_object", "json_schema"] as const;

/** Which tools a model may or must call. */
export const TOOL_CHOICES = ["auto", "none", "required"] as const;

/** A tool, switched on or off. */
export interface Tool {
  isOn: boolean;
  tool: Json;
}

/** All settings. Texts are as the reader typed them; an empty text leaves the parameter out. */
export interface Settings {
  models: string[];
  instructions: string;
  tools: Tool[];
  toolChoice: (typeof TOOL_CHOICES)[number];
  effort: (typeof EFFORTS)[number];
  format: (typeof FORMATS)[number];
  schema: string;
  temperature: string;
  topP: string;
  maxTokens: string;
  stream: boolean;
  store: boolean;
  background: boolean;
  cache: boolean;
  /** Whether the items of file searches have what they found. */
  results: boolean;
  /** Whether the calls of a code interpreter have their outputs. */
  outputs: boolean;
  promptId: string;
  promptVersion: string;
  promptVariables: string;
  other: string;
}

/** Parts of a response that are omitted unless a request includes them. */
const RESULTS = "file_search_call.results";
const OUTPUTS = "code_interpreter_call.outputs";

/** The settings of a new visitor. */
export const USUAL: Settings = {
  models: [""],
  instructions: "",
  tools: [],
  toolChoice: "auto",
  effort: "auto",
  format: "text",
  schema: "",
  temperature: "",
  topP: "",
  maxTokens: "",
  stream: true,
  store: true,
  background: false,
  cache: false,
  results: false,
  outputs: true,
  promptId: "",
  promptVersion: "",
  promptVariables: "",
  other: "",
};

/** Where a conversation continues: after a response, or in a conversation. */
export interface Place {
  previous_response_id?: string;
  conversation?: unknown;
}

/** Return the body of the request: exactly what is sent, and what the code next to it shows. */
export function bodyOf(settings: Settings, model: string, input: string | Item[], place: Place): Json {
  const tools = settings.tools.filter(({ isOn }) => isOn).map(({ tool }) => tool);
  const body: Json = {
    model: model || undefined,
    prompt: promptOf(settings),
    instructions: settings.instructions || undefined,
    input: settings.promptId && input.length === 0 ? undefined : input,
    ...place,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: settings.toolChoice === "auto" ? undefined : settings.toolChoice,
    reasoning: settings.effort === "auto" ? undefined : { effort: settings.effort },
    text: formatOf(settings),
    temperature: numberOf(settings.temperature),
    top_p: numberOf(settings.topP),
    max_output_tokens: numberOf(settings.maxTokens),
    stream: settings.stream || undefined,
    store: settings.store ? undefined : false,
    background: settings.background || undefined,
    include: includeOf(settings),
    antiphon: settings.cache ? { cache: true } : undefined,
    ...(parsed(settings.other) ?? {}),
  };
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** Return what is wrong with the settings, by field; the request is sent only where nothing is. */
export function mistakesIn(settings: Settings): Partial<Record<keyof Settings, string>> {
  const found: Partial<Record<keyof Settings, string>> = {};
  if (settings.other && !parsed(settings.other)) found.other = "Not a JSON object";
  if (settings.format === "json_schema" && !parsed(settings.schema)) found.schema = "Not a JSON object";
  if (settings.promptVariables && !parsed(settings.promptVariables)) found.promptVariables = "Not a JSON object";
  for (const name of ["temperature", "topP", "maxTokens"] as const) {
    if (settings[name] && numberOf(settings[name]) === undefined) found[name] = "Not a number";
  }
  const hasSecret = JSON.stringify(settings.tools.filter(({ isOn }) => isOn)).includes(STRUCK_OUT);
  if (hasSecret) found.tools = "A secret is missing: edit the tool, and enter it or remove its line.";
  return found;
}

/** Return the settings and the rest of a request, which a fork continues. */
export function settingsFrom(body: Json): { settings: Settings; place: Place; input: string | Item[] } {
  const { model, instructions, input, previous_response_id, conversation, tools, tool_choice, reasoning, text } = body;
  const { temperature, top_p, max_output_tokens, stream, store, background, include, prompt, antiphon, ...other } =
    withoutKnown(body);
  const format = (text as { format?: Json } | undefined)?.format;
  const effort = EFFORTS.find((each) => each === (reasoning as Json | undefined)?.effort);
  const choice = TOOL_CHOICES.find((each) => each === tool_choice);
  const left: Json = { ...other };
  const included = Array.isArray(include) ? include : [];
  const prompted = promptFields(prompt);
  if (prompt !== undefined && !prompted) left.prompt = prompt;
  if (tool_choice !== undefined && !choice) left.tool_choice = tool_choice;
  if (reasoning !== undefined && (!effort || Object.keys(reasoning as Json).length > 1)) left.reasoning = reasoning;
  if (text !== undefined && Object.keys(text as Json).length > (format ? 1 : 0)) left.text = text;
  const settings: Settings = {
    ...USUAL,
    models: [String(model ?? "")],
    instructions: typeof instructions === "string" ? instructions : "",
    tools: (Array.isArray(tools) ? (tools as Json[]) : []).map((tool) => ({ isOn: true, tool })),
    toolChoice: choice ?? "auto",
    effort: effort ?? "auto",
    format: FORMATS.find((each) => each === format?.type) ?? "text",
    schema: format?.type === "json_schema" ? JSON.stringify(withoutType(format), null, 2) : "",
    temperature: textOf(temperature),
    topP: textOf(top_p),
    maxTokens: textOf(max_output_tokens),
    stream: stream === true,
    store: store !== false,
    background: background === true,
    cache: (antiphon as Json | undefined)?.cache === true,
    results: included.includes(RESULTS),
    outputs: included.includes(OUTPUTS),
    ...prompted,
    other: "",
  };
  // What the fields cannot say, such as an unusual order, stays as it was.
  const isSame = JSON.stringify(includeOf(settings)) === JSON.stringify(include);
  if (!isSame && include !== undefined) {
    left.include = include;
    settings.results = false;
    settings.outputs = false;
  }
  if (!hasCode(settings)) settings.outputs = USUAL.outputs;
  if (Object.keys(left).length > 0) settings.other = JSON.stringify(left, null, 2);
  const place: Place = {
    ...(typeof previous_response_id === "string" ? { previous_response_id } : {}),
    ...(conversation ? { conversation } : {}),
  };
  return { settings, place, input: typeof input === "string" ? input : ((input ?? []) as Item[]) };
}

const SECRETS = ["authorization", "headers"];

/**
 * Return settings for a link or the browser's storage: a mask stands for each secret of a tool, which the reader
 * enters again.
 */
export function withoutSecrets(settings: Settings): Settings {
  const tools = settings.tools.map(({ isOn, tool }) => {
    const masks = SECRETS.filter((name) => tool[name]).map((name) => [name, STRUCK_OUT]);
    return { isOn, tool: { ...tool, ...Object.fromEntries(masks) } };
  });
  return { ...settings, tools };
}

function hasCode({ tools }: Settings): boolean {
  return tools.some(({ isOn, tool }) => isOn && tool.type === "code_interpreter");
}

/** Return what the response includes, undefined where that is nothing. Outputs are only there with the tool. */
function includeOf(settings: Settings): string[] | undefined {
  const found = [...(settings.results ? [RESULTS] : []), ...(settings.outputs && hasCode(settings) ? [OUTPUTS] : [])];
  return found.length > 0 ? found : undefined;
}

function promptOf({ promptId, promptVersion, promptVariables }: Settings): Json | undefined {
  if (!promptId) return undefined;
  const variables = parsed(promptVariables);
  return { id: promptId, ...(promptVersion ? { version: promptVersion } : {}), ...(variables ? { variables } : {}) };
}

/** Return the fields of a request's prompt, undefined where it has something that no field has. */
function promptFields(prompt: unknown): Pick<Settings, "promptId" | "promptVersion" | "promptVariables"> | undefined {
  const { id, version, variables, ...rest } = (prompt ?? {}) as Json;
  const found = {
    promptId: typeof id === "string" ? id : "",
    promptVersion: typeof version === "string" ? version : "",
    promptVariables: variables ? JSON.stringify(variables, null, 2) : "",
  };
  const isWhole = JSON.stringify(promptOf({ ...USUAL, ...found })) === JSON.stringify({ id, version, variables });
  return isWhole && Object.keys(rest).length === 0 ? found : undefined;
}

function withoutKnown(body: Json): Json {
  const {
    model,
    instructions,
    input,
    previous_response_id,
    conversation,
    tools,
    tool_choice,
    reasoning,
    text,
    ...rest
  } = body;
  return rest;
}

function formatOf(settings: Settings): Json | undefined {
  if (settings.format === "text") return undefined;
  if (settings.format === "json_object") return { format: { type: "json_object" } };
  const parsedSchema = parsed(settings.schema) ?? {};
  const format = "schema" in parsedSchema ? parsedSchema : { name: "answer", strict: true, schema: parsedSchema };
  return { format: { type: "json_schema", ...format } };
}

function withoutType({ type: _, ...rest }: Json): Json {
  return rest;
}

/** Return a JSON object, or undefined where the text is none. */
export function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function numberOf(text: string): number | undefined {
  const value = Number(text.replaceAll(",", "").trim() || Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "number" ? String(value) : "";
}
