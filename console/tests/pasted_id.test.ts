import { describe, expect, test } from "vitest";
import { idIn } from "../src/pages/responses/pasted_id.ts";
import { completed, isWhole, termAt } from "../src/pages/responses/terms.ts";

const ID = "req_01a22091857f8793582b5e0a5f65bfa8bae969618ed62d45";

describe("an ID in the field", () => {
  test.each([ID, `x-request-id: ${ID}`, `"request_id":"${ID}",`, `request_id=${ID}`, ` ${ID} `])("%s", (text) => {
    expect(idIn(text)).toBe(ID);
  });

  test("has one of the known forms", () => {
    for (const id of ["file-2kQ9AbCdEf", "call_8fVz1aBc", "cntr_01a22091857f", "vs_68b1e2f0a1b2"])
      expect(idIn(id)).toBe(id);
    for (const text of ["words", "dark_mode", `${ID} failed`, `id:${ID} model:a`, "status:failed", "", "a_b1"]) {
      expect(idIn(text)).toBeUndefined();
    }
  });
});

describe("the term at the caret", () => {
  const line = 'status:failed -model:"my mod" tls';

  test("ends at the caret, and is replaced whole", () => {
    expect(termAt(line, 9)).toEqual({ text: "status:fa", from: 0, to: 13 });
    expect(termAt(line, 24)).toEqual({ text: '-model:"my', from: 14, to: 29 });
    expect(termAt(line, line.length)).toEqual({ text: "tls", from: 30, to: 33 });
  });

  test("is empty between terms, and in an empty line", () => {
    expect(termAt("a  b", 2)).toEqual({ text: "", from: 2, to: 2 });
    expect(termAt("", 0)).toEqual({ text: "", from: 0, to: 0 });
    expect(termAt("a ", 2)).toEqual({ text: "", from: 2, to: 2 });
  });

  test("is completed in its place", () => {
    expect(completed(line, termAt(line, 9), "status:failed,queued")).toEqual({
      line: 'status:failed,queued -model:"my mod" tls',
      caret: 20,
    });
  });

  test("a name is no whole filter", () => {
    expect(["status:", "metadata.", "-model:"].map(isWhole)).toEqual([false, false, false]);
    expect(isWhole("status:failed")).toBe(true);
  });
});
