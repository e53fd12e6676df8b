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
        // One file for what pages share: the first page needs few requests.
        codeSplitting: { groups: [{ name: "shared", test: /node_modules|\/src\/(api|parts)\// }] },
      },
    },
  },
  plugins: [compressedCopies()],
  server: { proxy: { "/v1": SERVER, "/admin": SERVER } },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx}"] },
});
