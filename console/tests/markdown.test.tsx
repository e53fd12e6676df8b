import { render } from "preact";
import { beforeEach, describe, expect, test } from "vitest";
import { parseMarkdown } from "../src/parts/markdown/parse.ts";
import { Markdown, safeAddress } from "../src/parts/markdown/view.tsx";

let root: HTMLElement;

beforeEach(() => {
  root = document.createElement("div");
  document.body.replaceChildren(root);
});

function rendered(text: string): HTMLElement {
  render(<Markdown text={text} />, root);
  return root;
}

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "[a](javascript:alert(1))",
  "[a](JaVaScRiPt:alert(1))",
  "[a](\u0001javascript:alert(1))",
  "[a](data:text/html,<script>alert(1)</script>)",
  "[a](vbscript:x)",
  "![x](http://tracker.example/p.png)",
  "![x](data:image/svg+xml,<svg onload=alert(1)>)",
  "[a](//tracker.example)",
  "<http://tracker.example>",
  '[a](http://x.example" onmouseover="alert(1))',
  "`<b>`",
  "```html\n<script>alert(1)</script>\n```",
  "| <b> | [x](javascript:1) |\n|---|---|\n| <i> | y |",
  "<style>*{display:none}</style>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "[__proto__](constructor)",
  "]]>",
  "\u202etxt.exe",
];

describe("Markdown", () => {
  test.each(HOSTILE)("hostile text stays text: %s", (text) => {
    const { innerHTML } = rendered(text);
    expect(root.querySelectorAll("script, img, svg, style, iframe, object, embed, form, base, link")).toHaveLength(0);
    expect(
      [...root.querySelectorAll("*")]
        .flatMap((each) => each.getAttributeNames())
        .filter((name) => /^on|^src|^style/.test(name)),
    ).toEqual([]);
    for (const link of root.querySelectorAll("a")) {
      expect(link.protocol).toMatch(/^(https?|mailto):$/);
      expect(link.rel).toBe("noreferrer noopener");
    }
    expect(innerHTML.length).toBeGreaterThan(0);
  });

  test("a link shows its host", () => {
    expect(rendered("See [the notes](https://docs.example/a?b=c).").textContent).toBe("See the notes (docs.example).");
    expect(root.querySelector("a")?.href).toBe("https://docs.example/a?b=c");
  });

  test("an image is a link that loads nothing", () => {
    expect(rendered("![A cat](https://pictures.example/cat.png)").textContent).toBe("Image: A cat (pictures.example)");
  });

  test("blocks and emphasis become nodes", () => {
    rendered(
      "# Title\n\nText with **bold**, *thin*, `code` and ~~old~~.\n\n- one\n- two\n  1. inner\n\n> quoted\n\n---",
    );
    for (const tag of ["strong", "em", "code", "del", "ul > li", "ol > li", "blockquote", "hr"]) {
      expect(root.querySelector(tag), tag).not.toBeNull();
    }
  });

  test("a table has its head and rows", () => {
    rendered("| a | b |\n|---|:-:|\n| 1 | **2** |");
    expect([...root.querySelectorAll("th")].map((each) => each.textContent)).toEqual(["a", "b"]);
    expect(root.querySelector("td strong")?.textContent).toBe("2");
  });

  test("names with underscores and sums with stars are no emphasis", () => {
    expect(rendered("snake_case_name and 2 * 3 * 4").querySelectorAll("em, strong")).toHaveLength(0);
    expect(root.textContent).toBe("snake_case_name and 2 * 3 * 4");
  });

  test("code that is not closed goes on to the end", () => {
    expect(parseMarkdown("```py\nprint(1)")).toEqual([{ is: "code", text: "print(1)", language: "py" }]);
  });

  test.each(["*", "**", "_", "[", "![", "`", "[a](", "> ", "- ", "|", "~~", "http://", "``` ", "\\", "1. ", "<"])(
    "takes little time for 50,000 times %s",
    (piece) => {
      const began = process.cpuUsage().user;
      parseMarkdown(piece.repeat(50_000));
      parseMarkdown(`${piece}a `.repeat(20_000));
      parseMarkdown(`${piece}a\n`.repeat(20_000));
      expect((process.cpuUsage().user - began) / 1e6).toBeLessThan(3);
    },
  );

  test("only addresses of the web and of mail are safe", () => {
    expect(safeAddress("https://a.example")?.host).toBe("a.example");
    expect(safeAddress("mailto:a@b.example")?.protocol).toBe("mailto:");
    for (const href of ["javascript:1", "data:text/html,x", "file:///etc/passwd", "/console/", "", "blob:x"]) {
      expect(safeAddress(href)).toBeUndefined();
    }
  });
});
