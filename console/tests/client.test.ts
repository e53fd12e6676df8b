import { afterEach, describe, expect, test, vi } from "vitest";
import { consolePath } from "../src/api/base.ts";
import { ApiError, onSignedOut, request } from "../src/api/client.ts";
import { EventParser } from "../src/api/sse.ts";

afterEach(() => vi.unstubAllGlobals());

function answering(status: number, body: string): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(async () => new Response(status === 204 ? null : body, { status }));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

describe("the client of the API", () => {
  test("sends the header that no other site can send, and no key", async () => {
    const fetched = answering(200, "{}");
    await request("/admin/v1/responses", { query: { q: "a b", after: undefined, limit: 5 } });
    const [url, init] = fetched.mock.calls[0] ?? [];
    expect(url).toBe("/admin/v1/responses?q=a+b&limit=5");
    expect(init.headers["antiphon-console"]).toBe("1");
    expect(Object.keys(init.headers)).not.toContain("authorization");
    expect(init.credentials).toBe("same-origin");
  });

  test("shows the message of the error envelope", async () => {
    answering(400, '{"error": {"message": "Invalid q", "code": "invalid_value", "param": "q"}}');
    const error = await request("/x").catch((reason: ApiError) => reason);
    expect(error).toMatchObject({ status: 400, message: "Invalid q", code: "invalid_value", param: "q" });
  });

  test.each(["<html>502</html>", "", '{"error": "text"}', "[]"])(
    "a body that is no envelope is an error all the same: %s",
    async (body) => {
      answering(502, body);
      expect(await request("/x").catch((reason: ApiError) => reason)).toBeInstanceOf(ApiError);
    },
  );

  test("says that no user is signed in", async () => {
    const signedOut = vi.fn();
    onSignedOut(signedOut);
    answering(401, '{"error": {"message": "Sign in"}}');
    await request("/x").catch(() => {});
    expect(signedOut).toHaveBeenCalledOnce();
  });

  test("an unreachable server is an error with status 0", async () => {
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("Failed to fetch");
    });
    expect(await request("/x").catch((reason: ApiError) => reason.status)).toBe(0);
  });

  test("finds the console below any prefix", () => {
    expect(consolePath("http://h/console/assets/index-1.js")).toBe("/console/");
    expect(consolePath("https://h/llm/api/console/assets/index-1.js")).toBe("/llm/api/console/");
    expect(consolePath("http://localhost:5173/src/api/base.ts")).toBe("/console/");
  });
});

describe("server-sent events", () => {
  const STREAM = 'event: row\ndata: {"a":\ndata: 1}\n\n: comment\n\nid: 7\r\ndata: x\r\n\r\ndata:\n\n';
  const EVENTS = [
    { event: "row", data: '{"a":\n1}', id: "" },
    { event: "message", data: "x", id: "7" },
    { event: "message", data: "", id: "7" },
  ];

  test("are read whole, wherever the stream is cut", () => {
    for (let at = 0; at <= STREAM.length; at += 1) {
      const parser = new EventParser();
      expect([...parser.push(STREAM.slice(0, at)), ...parser.push(STREAM.slice(at))]).toEqual(EVENTS);
    }
  });
});
