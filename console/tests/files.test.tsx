import { type ComponentChild, render } from "preact";
import { afterEach, describe, expect, test, vi } from "vitest";
import { filterOf } from "../src/pages/files/filter.ts";
import { Uploads } from "../src/pages/files/uploads.ts";
import { ItemView } from "../src/parts/items/item.tsx";
import { usePaged } from "../src/parts/paged.ts";
import { usePolling } from "../src/parts/poll.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function rendered(child: ComponentChild): HTMLElement {
  const root = document.createElement("div");
  render(child, root);
  return root;
}

/** A request that a test answers. */
class FakeRequest {
  static readonly all: FakeRequest[] = [];
  readonly upload: { onprogress?: (event: { loaded: number }) => void } = {};
  readonly headers: Record<string, string> = {};
  status = 0;
  statusText = "";
  responseText = "";
  isAborted = false;
  form = new FormData();
  onload = () => {};
  onabort = () => {};
  constructor() {
    FakeRequest.all.push(this);
  }
  open() {}
  setRequestHeader(name: string, value: string) {
    this.headers[name] = value;
  }
  send(form: FormData) {
    this.form = form;
  }
  abort() {
    this.isAborted = true;
    this.onabort();
  }
  answer(status: number, body: unknown) {
    this.status = status;
    this.responseText = JSON.stringify(body);
    this.onload();
  }
}

function uploading(names: string[], after: () => Promise<void> = async () => {}) {
  FakeRequest.all.length = 0;
  vi.stubGlobal("XMLHttpRequest", FakeRequest);
  const uploads = new Uploads();
  const onDone = vi.fn();
  const files = names.map((name) => new File(["content"], name));
  uploads.add(files, { purpose: "assistants", seconds: 3600, after, onDone });
  return { uploads, onDone, requests: FakeRequest.all, states: () => uploads.all.value.map(({ state }) => state) };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

describe("uploads", () => {
  test("run two at once, each with its progress, and the header that no other site can send", async () => {
    const { uploads, onDone, requests, states } = uploading(["a", "b", "c"]);
    expect(states()).toEqual(["sending", "sending", "waiting"]);
    expect(requests[0]?.headers["antiphon-console"]).toBe("1");
    const fields = [...(requests[0]?.form.entries() ?? [])].map(([name, value]) => [name, String(value)]);
    expect(fields.slice(0, 3)).toEqual([
      ["purpose", "assistants"],
      ["expires_after[anchor]", "created_at"],
      ["expires_after[seconds]", "3600"],
    ]);
    requests[0]?.upload.onprogress?.({ loaded: 4 });
    expect(uploads.all.value[0]?.sent).toBe(4);
    requests[0]?.answer(200, { id: "file-1" });
    await settled();
    expect(states()).toEqual(["done", "sending", "sending"]);
    expect(onDone).toHaveBeenCalledOnce();
  });

  test("that fail say why and stop no others, nor does a failure of what follows", async () => {
    const refuse = async () => {
      throw new Error("The vector store has expired.");
    };
    const { uploads, requests, states } = uploading(["a", "b"], refuse);
    requests[0]?.answer(413, { error: { message: "Too large." } });
    requests[1]?.answer(200, { id: "file-1" });
    await settled();
    expect(states()).toEqual(["failed", "failed"]);
    expect(uploads.all.value.map(({ error }) => (error as Error).message)).toEqual([
      "Too large.",
      "The vector store has expired.",
    ]);
    uploads.clear();
    expect(uploads.all.value).toEqual([]);
  });

  test("are cancelled while they run and while they wait", async () => {
    const { uploads, requests, states } = uploading(["a", "b", "c", "d"]);
    uploads.remove(3);
    uploads.remove(1);
    await settled();
    expect(requests[0]?.isAborted).toBe(true);
    expect(requests.length).toBe(3);
    expect(states()).toEqual(["sending", "sending"]);
  });
});

describe("looking at what is in progress", () => {
  function Watch({ poll }: { poll: () => void }) {
    const { isPaused, resume } = usePolling(true, poll);
    return isPaused ? (
      <button type="button" onClick={resume}>
        again
      </button>
    ) : null;
  }

  test("becomes slower, ends after a while, and goes on when the reader wants it", async () => {
    vi.useFakeTimers();
    const poll = vi.fn();
    const root = rendered(<Watch poll={poll} />);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(poll.mock.calls.length).toBeLessThan(6);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(poll).toHaveBeenCalledTimes(150);
    root.querySelector("button")?.click();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(poll.mock.calls.length).toBeGreaterThan(152);
    render(null, root);
    const last = poll.mock.calls.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(poll).toHaveBeenCalledTimes(last);
  });
});

describe("a list that is loaded once more", () => {
  test("keeps the answer of the last refresh, whichever comes first", async () => {
    const answers: ((ids: string[]) => void)[] = [];
    const fetched = () =>
      new Promise((answer) => {
        answers.push((ids) => answer(Response.json({ data: ids.map((id) => ({ id })), has_more: false })));
      });
    vi.stubGlobal("fetch", fetched);
    let refresh = () => {};
    const Names = () => {
      const list = usePaged<{ id: string }>("/admin/v1/files");
      refresh = list.refresh;
      return <p>{list.items.map(({ id }) => id).join()}</p>;
    };
    const root = rendered(<Names />);
    await vi.waitFor(() => expect(answers.length).toBe(1));
    answers[0]?.(["first"]);
    await vi.waitFor(() => expect(root.textContent).toBe("first"));
    refresh();
    refresh();
    answers[2]?.(["later"]);
    await vi.waitFor(() => expect(root.textContent).toBe("later"));
    answers[1]?.(["earlier"]);
    await new Promise((done) => setTimeout(done));
    expect(root.textContent).toBe("later");
  });
});

describe("a filter of a search", () => {
  test.each([
    [{ key: "", type: "eq", value: "x" } as const, undefined],
    [{ key: " year ", type: "gte", value: " 2026 " } as const, { key: "year", type: "gte", value: 2026 }],
    [{ key: "draft", type: "eq", value: "false" } as const, { key: "draft", type: "eq", value: false }],
    [{ key: "year", type: "eq", value: '"2026"' } as const, { key: "year", type: "eq", value: "2026" }],
    [{ key: "by", type: "ne", value: "[1]" } as const, { key: "by", type: "ne", value: "[1]" }],
    [{ key: "by", type: "eq", value: "null" } as const, { key: "by", type: "eq", value: "null" }],
  ])("%j", (comparison, expected) => {
    expect(filterOf(comparison)).toEqual(expected);
  });
});

describe("a file search in a conversation", () => {
  const HOSTILE = "<img src=x onerror=alert(1)>\u202e";
  const call = { type: "file_search_call", id: "fs_1", status: "completed", queries: ["when", HOSTILE] };

  test("shows its queries, and passages with file, score and attributes as text", () => {
    const results = [
      { file_id: "file-1", filename: HOSTILE, score: 0.91234, attributes: { [HOSTILE]: HOSTILE }, text: HOSTILE },
      { file_id: "file-2", filename: "b.txt", score: 0.5, attributes: null, text: "y".repeat(5_000) },
    ];
    const root = rendered(<ItemView item={{ ...call, results }} />);
    expect(root.querySelector("img")).toBeNull();
    expect(root.textContent).toContain("2 passages");
    expect(root.textContent).toContain("0.912");
    expect(root.textContent?.match(/U\+202E/g)?.length).toBe(5);
    expect(root.querySelector("details.passage summary")?.textContent).toMatch(/^y{600}… show all$/);
  });

  test("without included results shows its queries alone", () => {
    const root = rendered(<ItemView item={{ ...call, results: null }} />);
    expect(root.textContent).toContain("when");
    expect(root.textContent).not.toContain("passage");
  });

  test("is cited below the answer, each file once", () => {
    const cite = { type: "file_citation", file_id: "file-1", filename: "a.txt", index: 4 };
    const annotations = [cite, { ...cite, index: 9 }, { ...cite, file_id: "file-2", filename: HOSTILE }];
    const content = [{ type: "output_text", text: "At nine.", annotations }];
    const root = rendered(<ItemView item={{ type: "message", role: "assistant", content }} />);
    const sources = [...root.querySelectorAll(".sources li")].map((each) => each.textContent);
    expect(sources).toEqual(["1 a.txt", `2 ${HOSTILE.slice(0, -1)}U+202E`]);
  });
});
