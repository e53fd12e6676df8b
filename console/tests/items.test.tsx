import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Item, Json } from "../src/api/types.ts";
import { fold } from "../src/pages/play/fold.ts";
import { colouredCode } from "../src/parts/code.tsx";
import { ItemView } from "../src/parts/items/item.tsx";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const HOSTILE = "<script>window.harm = 1</script><img src=x onerror='window.harm=1'>";

afterEach(() => vi.unstubAllGlobals());

function rendered(child: ComponentChild): HTMLElement {
  const root = document.createElement("div");
  document.body.append(root);
  act(() => render(child, root));
  return root;
}

const CALL: Item = {
  type: "code_interpreter_call",
  id: "ci_1",
  status: "completed",
  container_id: "cntr_1",
  code: "print(1)",
  outputs: [
    { type: "logs", logs: "1\n" },
    { type: "image", url: `data:image/png;base64,${PNG}` },
  ],
};

describe("a call of the code interpreter", () => {
  test("shows its code, what it printed and drew, and its container", () => {
    const root = rendered(<ItemView item={CALL} />);
    expect([...root.querySelectorAll("pre")].map((each) => each.textContent)).toEqual(["print(1)", "1\n"]);
    expect(root.querySelector("img")?.getAttribute("src")).toBe(`data:image/png;base64,${PNG}`);
    expect(root.querySelector("img")?.alt).toBe("Figure, output 2 of the code");
    expect(root.querySelector("a")?.getAttribute("href")).toBe("/console/containers/cntr_1");
  });

  test.each([
    ["http://tracker.example/p.png", "not loaded"],
    ["data:image/svg+xml;base64,PHN2Zz4=", "not shown"],
    ["data:text/html;base64,PHN2Zz4=", "not shown"],
    [`data:image/png;base64,${"A".repeat(28_000_001)}`, "too large"],
    ["javascript:alert(1)", "not shown"],
  ])("shows no image of %.40s", (url, why) => {
    const root = rendered(<ItemView item={{ ...CALL, outputs: [{ type: "image", url }] }} />);
    expect(root.querySelector("img")).toBeNull();
    expect(root.textContent).toContain(why);
  });

  test("says whether there was no output, or none was requested", () => {
    expect(rendered(<ItemView item={{ ...CALL, outputs: [] }} />).textContent).toContain("No output");
    expect(rendered(<ItemView item={{ ...CALL, outputs: null }} />).textContent).toContain(
      "without code_interpreter_call",
    );
  });

  test("shows a few of many outputs, and the beginning of a long one, until the reader wants more", () => {
    const outputs = Array.from({ length: 25 }, () => ({ type: "logs", logs: "x".repeat(150_000) }));
    const root = rendered(<ItemView item={{ ...CALL, outputs }} />);
    expect(root.querySelectorAll("pre").length).toBe(21);
    expect(root.querySelectorAll("pre")[1]?.textContent?.length).toBe(20_000);
    act(() => [...root.querySelectorAll("button")].at(-1)?.click());
    expect(root.querySelectorAll("pre").length).toBe(26);
  });

  test("is text only, whatever it says", () => {
    const outputs = [{ type: "logs", logs: HOSTILE }, { type: HOSTILE, logs: HOSTILE }, null, HOSTILE];
    const root = rendered(<ItemView item={{ ...CALL, code: HOSTILE, container_id: HOSTILE, outputs }} />);
    expect(root.querySelector("script, img, a")).toBeNull();
    const odd = { ...CALL, code: { a: 1 }, container_id: 5, outputs: "x", status: HOSTILE } as Item;
    expect(rendered(<ItemView item={odd} />).querySelector("script, img, a")).toBeNull();
  });

  test("is coloured in linear time", () => {
    expect(colouredCode('\\"'.repeat(50_000)).length).toBeGreaterThan(0);
  });
});

describe("a hosted shell", () => {
  test("shows its commands, its container, and how each command ended", () => {
    const environment = { type: "container_reference", container_id: "cntr_2" };
    const call = rendered(<ItemView item={{ type: "shell_call", action: { commands: ["ls", "pwd"] }, environment }} />);
    expect(call.querySelector("pre")?.textContent).toBe("ls\npwd");
    expect(call.querySelector("a")?.getAttribute("href")).toBe("/console/containers/cntr_2");
    const output = [
      { stdout: "a.csv\n", stderr: "", outcome: { type: "exit", exit_code: 0 } },
      { stdout: "", stderr: "no", outcome: { type: "exit", exit_code: 2 } },
      { stdout: "", stderr: "", outcome: { type: "timeout" } },
    ];
    const ended = rendered(<ItemView item={{ type: "shell_call_output", output }} />);
    expect([...ended.querySelectorAll(".tag")].map((each) => each.textContent)).toEqual([
      "exit code 0",
      "exit code 2",
      "timeout",
    ]);
    expect(ended.querySelector(".stderr")?.textContent).toBe("no");
  });

  test("is no harm without its fields", () => {
    for (const type of ["shell_call", "shell_call_output", "code_interpreter_call", "image_generation_call"]) {
      for (const value of [undefined, null, 5, "x", [null], { commands: 5 }]) {
        rendered(
          <ItemView item={{ type, action: value, output: value, outputs: value, result: value, code: value }} />,
        );
      }
    }
  });
});

describe("a generated image", () => {
  const image = { type: "image_generation_call", id: "ig_1", status: "completed", result: PNG, size: "1024x1024" };

  test("is shown from its base64, described by its revised prompt", () => {
    const root = rendered(<ItemView item={{ ...image, revised_prompt: "A grey cat" }} />);
    expect(root.querySelector("img")?.getAttribute("src")).toBe(`data:image/png;base64,${PNG}`);
    expect(root.querySelector("img")?.alt).toBe("A grey cat");
    expect(root.textContent).not.toContain("Partial");
  });

  test("is shown in part while it is generated", () => {
    expect(rendered(<ItemView item={{ ...image, status: "generating" }} />).textContent).toContain("Partial image");
  });

  test.each(["http://tracker.example/p.png", "PHN2Zz4=", HOSTILE])("is no image if it is %s", (result) => {
    const root = rendered(<ItemView item={{ ...image, result, revised_prompt: HOSTILE, size: HOSTILE }} />);
    expect(root.querySelector("img, script")).toBeNull();
  });

  test("says why it failed", () => {
    const failed = { ...image, status: "failed", result: null, error: { message: "The backend refused." } };
    expect(rendered(<ItemView item={failed} />).textContent).toContain("The backend refused.");
  });
});

test("a file that code made is downloaded from its container, or it says why not", async () => {
  const cite = { type: "container_file_citation", container_id: "cntr_1", file_id: "cfile_1", filename: "a.csv" };
  const content = [{ type: "output_text", text: "Done", annotations: [cite, { ...cite, start_index: 4 }] }];
  const fetched: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    fetched.push(path);
    return new Response('{"error": {"message": "Container is expired."}}', { status: 404 });
  });
  const root = rendered(<ItemView item={{ type: "message", role: "assistant", content }} />);
  const buttons = root.querySelectorAll<HTMLButtonElement>(".sources button");
  expect(buttons.length).toBe(1);
  await act(async () => {
    buttons[0]?.click();
    await new Promise((resolve) => setTimeout(resolve));
  });
  expect(fetched).toEqual(["/v1/containers/cntr_1/files/cfile_1/content"]);
  expect(root.querySelector("[role=alert]")?.textContent).toBe("Container is expired.");
});

describe("the output of a stream", () => {
  const folded = (item: Item, ...events: Json[]) =>
    events.reduce<readonly Item[]>((items, event) => fold(items, { output_index: 0, ...event }), [item])[0];

  test("has the code of a call as it is written", () => {
    const delta = { type: "response.code_interpreter_call_code.delta" };
    const call = { type: "code_interpreter_call", code: "", status: "in_progress" };
    const running = { type: "response.code_interpreter_call.interpreting" };
    expect(folded(call, { ...delta, delta: "print" }, { ...delta, delta: "(1)" }, running)).toEqual({
      ...call,
      code: "print(1)",
      status: "interpreting",
    });
    const done = { type: "response.code_interpreter_call_code.done", code: "print(2)" };
    expect(folded(call, { ...delta, delta: "print" }, done)?.code).toBe("print(2)");
  });

  test("has the newest partial image", () => {
    const type = "response.image_generation_call.partial_image";
    const image = { type: "image_generation_call", status: "in_progress" };
    const generating = { type: "response.image_generation_call.generating" };
    const events = [PNG, `${PNG}2`].map((partial_image_b64) => ({ type, partial_image_b64, size: "256x256" }));
    expect(folded(image, generating, ...events)).toMatchObject({ result: `${PNG}2`, status: "generating" });
  });

  test("has commands and what they print", () => {
    const at = { command_index: 1 };
    const shell = { type: "shell_call", action: { commands: ["ls"] } };
    const command = { ...at, type: "response.shell_call_command.delta" };
    expect(folded(shell, { ...command, delta: "p" }, { ...command, delta: "wd" })?.action).toEqual({
      commands: ["ls", "pwd"],
    });
    const printed = { command_index: 0, type: "response.shell_call_output_content.delta" };
    const output = folded(
      { type: "shell_call_output", output: [] },
      { ...printed, delta: { stdout: "a" } },
      { ...printed, delta: { stdout: "b", stderr: "c" } },
      { ...printed, command_index: 1e9, delta: { stderr: "!" } },
    )?.output;
    expect(output).toEqual([{ stdout: "ab", stderr: "c!" }]);
  });
});
