/** Code and commands that ran in a container, with what they printed and drew. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Item, Json } from "../../api/types.ts";
import { colouredCode } from "../code.tsx";
import { count } from "../format.ts";
import { LongText } from "../raw.tsx";
import { ContainerLink } from "./container.tsx";
import { Picture } from "./picture.tsx";
import { StatusTag, Turn } from "./turn.tsx";

const MOST_DISPLAYED = 20; // outputs that are shown before the reader wants all of them

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null) : [];
}

/** A `code_interpreter_call`. Its outputs are null unless the request included them. */
export function CodeCall({ item }: { item: Item }) {
  const code = String(item.code ?? "");
  const isDone = item.status === "completed";
  return (
    <ContainerTurn name="Code interpreter" item={item} container={item.container_id}>
      <div class="item-card">
        <LongText text={code} nodes={colouredCode} />
        {Array.isArray(item.outputs) && (
          <Few all={listOf(item.outputs)}>{(output, at) => <Output key={at} output={output} at={at} />}</Few>
        )}
      </div>
      {isDone && !Array.isArray(item.outputs) && (
        <p class="muted small">The response was requested without code_interpreter_call.outputs.</p>
      )}
      {isDone && Array.isArray(item.outputs) && item.outputs.length === 0 && <p class="muted small">No output</p>}
    </ContainerTurn>
  );
}

function Output({ output, at }: { output: Json; at: number }) {
  if (output.type === "image") {
    return <Picture data={String(output.url ?? "")} alt={`Figure, output ${at + 1} of the code`} name="figure" />;
  }
  return <LongText text={String(output.logs ?? "")} />;
}

/** A `shell_call`: commands for a container of the server, or for the client's machine. */
export function ShellCall({ item }: { item: Item }) {
  const commands = (item.action as Json | undefined)?.commands;
  const text = Array.isArray(commands) ? commands.map(String).join("\n") : "";
  return (
    <ContainerTurn name="Shell" item={item} container={(item.environment as Json | undefined)?.container_id}>
      <div class="item-card">
        <LongText text={text} />
      </div>
    </ContainerTurn>
  );
}

/** A `shell_call_output`: what each command printed, and how it ended. */
export function ShellOutput({ item }: { item: Item }) {
  const outputs = listOf(item.output);
  return (
    <ContainerTurn name="Shell output" item={item} container={undefined}>
      <div class="item-card">
        <Few all={outputs}>{(output, at) => <CommandOutput key={at} output={output} />}</Few>
      </div>
    </ContainerTurn>
  );
}

function CommandOutput({ output }: { output: Json }) {
  const { stdout, stderr, outcome } = output;
  const { type, exit_code: code } = (outcome ?? {}) as Json;
  return (
    <>
      {Boolean(stdout) && <LongText text={String(stdout)} />}
      {Boolean(stderr) && <LongText text={String(stderr)} class="stderr" />}
      {type !== undefined && (
        <p class="line">
          <span class={`tag ${type === "exit" && code === 0 ? "good" : "bad"}`}>
            {type === "exit" ? `exit code ${String(code)}` : String(type)}
          </span>
        </p>
      )}
    </>
  );
}

interface ContainerProps {
  name: string;
  item: Item;
  container: unknown;
  children: ComponentChildren;
}

function ContainerTurn({ name, item, container, children }: ContainerProps) {
  const aside = (
    <>
      {item.status && <StatusTag status={item.status} />}
      <ContainerLink id={container} />
    </>
  );
  return (
    <Turn face="tool" icon="code" name={name} aside={aside}>
      {children}
    </Turn>
  );
}

interface FewProps {
  all: readonly Json[];
  children: (each: Json, at: number) => ComponentChildren;
}

/** The first ones of many, until the reader wants all. */
function Few({ all, children }: FewProps) {
  const isAll = useSignal(false);
  const visible = isAll.value ? all : all.slice(0, MOST_DISPLAYED);
  return (
    <>
      {visible.map(children)}
      {visible.length < all.length && (
        <button type="button" class="btn bare" onClick={() => (isAll.value = true)}>
          Show {count(all.length - visible.length)} more outputs
        </button>
      )}
    </>
  );
}
