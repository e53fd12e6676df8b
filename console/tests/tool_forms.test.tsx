import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Json } from "../src/api/types.ts";
import { formOf, withParameter } from "../src/pages/play/tool_forms.tsx";

const LISTS: Record<string, Json[]> = {
  "/v1/files": [{ id: "file-1", filename: "a.csv", bytes: 3, purpose: "user_data" }],
  "/v1/containers": [
    { id: "cntr_1", name: "analysis", status: "running", memory_limit: "4g" },
    { id: "cntr_2", name: "old", status: "expired", memory_limit: "1g" },
  ],
};

afterEach(() => vi.unstubAllGlobals());

async function rendered(child: ComponentChild): Promise<HTMLElement> {
  vi.stubGlobal("fetch", async (path: string) => Response.json({ data: LISTS[path.split("?")[0] ?? ""] ?? [] }));
  const root = document.createElement("div");
  document.body.append(root);
  act(() => render(child, root));
  await act(() => new Promise<void>((resolve) => setTimeout(resolve)));
  return root;
}

async function formFor(tool: Json) {
  const Form = formOf(tool);
  if (!Form) throw new Error("No form");
  const onChange = vi.fn<(tool: Json) => void>();
  const root = await rendered(<Form tool={tool} onChange={onChange} />);
  const field = <T extends Element>(selector: string, at = 0): T => {
    const found = root.querySelectorAll<T>(selector)[at];
    if (!found) throw new Error(`No ${selector}`);
    return found;
  };
  const last = () => onChange.mock.lastCall?.[0];
  const pick = (selector: string, at = 0) => act(() => field<HTMLInputElement>(selector, at).click());
  const select = (at: number, value: string) =>
    act(() => {
      field<HTMLSelectElement>("select", at).value = value;
      field("select", at).dispatchEvent(new Event("change", { bubbles: true }));
    });
  return { root, last, pick, select };
}

describe("the form of a code interpreter", () => {
  test("sets the memory limit and the files of an automatic container", async () => {
    const tool = { type: "code_interpreter", container: { type: "auto" } };
    const { last, pick, select } = await formFor(tool);
    await select(0, "4g");
    expect(last()).toEqual({ ...tool, container: { type: "auto", memory_limit: "4g" } });
    await pick("[type=checkbox]");
    expect(last()).toEqual({ ...tool, container: { type: "auto", file_ids: ["file-1"] } });
  });

  test("names a container that runs", async () => {
    const { root, last, pick } = await formFor({ type: "code_interpreter", container: "" });
    expect(root.textContent).toContain("1 container expired");
    await pick(".choices [type=radio]");
    expect(last()).toEqual({ type: "code_interpreter", container: "cntr_1" });
    await pick(".choice [type=radio]");
    expect(last()).toEqual({ type: "code_interpreter", container: { type: "auto" } });
  });
});

test("the form of a shell names containers in its environment", async () => {
  const auto = await formFor({ type: "shell", environment: { type: "container_auto" } });
  await auto.select(0, "1g");
  expect(auto.last()?.environment).toEqual({ type: "container_auto", memory_limit: "1g" });
  await auto.pick(".choice [type=radio]", 1);
  expect(auto.last()?.environment).toEqual({ type: "container_reference", container_id: "" });
  const named = await formFor({ type: "shell", environment: { type: "container_reference", container_id: "" } });
  await named.pick(".choices [type=radio]");
  expect(named.last()?.environment).toEqual({ type: "container_reference", container_id: "cntr_1" });
});

test("the form of image generation keeps values that it does not know, and removes a default", async () => {
  const tool = { type: "image_generation", size: "512x512", moderation: "low", partial_images: 2 };
  const { root, last, select } = await formFor(tool);
  expect([...root.querySelectorAll("select")].map(({ value }) => value)).toEqual(["512x512", "", "", "", "2", ""]);
  await select(0, "");
  expect(last()).toEqual({ type: "image_generation", moderation: "low", partial_images: 2 });
  await select(4, "3");
  expect(last()).toEqual({ ...tool, partial_images: 3 });
  await select(1, "high");
  expect(last()).toEqual({ ...tool, quality: "high" });
});

test("other tools have no form", () => {
  for (const tool of [undefined, {}, { type: "function" }, { type: "constructor" }])
    expect(formOf(tool)).toBeUndefined();
});

test("an empty parameter is removed", () => {
  expect(withParameter({ a: 1, b: 2 }, "b", "")).toEqual({ a: 1 });
  expect(withParameter({ a: 1 }, "b", [])).toEqual({ a: 1 });
  expect(withParameter({ a: 1 }, "b", 0)).toEqual({ a: 1, b: 0 });
});
