/** How the console is bundled: content hashes in the names, and a compressed copy beside each file. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vitest/config";

const OUTPUT = "../src/antiphon/server/console/static";
const SERVER = "http://127.0.0.1:8321";

/** Write `NAME.gz` beside every file, so that the server never compresses. */
function compressedCopies(): Plugin {
  return {
    name: "compressed-copies",
    apply: "build",
    writeBundle({ dir }) {
      for (const entry of readdirSync(dir ?? OUTPUT, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: constants.Z_BEST_COMPRESSION }));
      }
    },
  };
}

/** Return the name of a page's folder for the chunk of the page, so that `build.py` knows which page loads what. */
function chunkName(module: string | null): string | undefined {
  return /\/pages\/(\w+)\/page\.tsx$/.exec(module ?? "")?.[1];
}

const SHARED = /node_modules|\/src\/(api|parts|style)\//;
/** What only pages behind the first one show: single responses with their texts, JSON and items, and the choice of files. */
const CONTENT =
  /\/src\/(parts\/(items|json|markdown|snippets)\b|pages\/((response|compare)\/|files\/(choose|drop_zone|store_parts|uploads)))/;
/** The other pages, with lists of objects. They are alike, so one file of all compresses better than many small ones. */
const LISTS = /\/src\/pages\/(?!(?:responses|response|compare|play)\/)\w+\//;

export default defineConfig({
  // Relative addresses: the server may be mounted below any prefix.
  base: "./",
  build: {
    outDir: OUTPUT,
    emptyOutDir: true,
    target: "es2023",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: "licences.json" }, // licences require their texts next to the code that is bundled
    rolldownOptions: {
      output: {
        chunkFileNames: ({ facadeModuleId, name }) => `assets/${chunkName(facadeModuleId) ?? name}-[hash].js`,
        // The first page needs few requests: what pages share is one file, and it loads none of the others.
        codeSplitting: {
          groups: [
            { name: "shared", test: (id) => SHARED.test(id) && !CONTENT.test(id), priority: 2 },
            { name: "content", test: CONTENT, priority: 1 },
            { name: "lists", test: LISTS, priority: 1 },
          ],
        },
      },
    },
  },
  plugins: [compressedCopies()],
  server: { proxy: { "/v1": SERVER, "/admin": SERVER } },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx}"] },
});
