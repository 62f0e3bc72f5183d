import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A running server for `npm run console:dev`. */
const target = "http://127.0.0.1:8150";

const smallParts =
  /console\/src\/(lib|parts)\/(?!combobox|dialog|menu|request|secret|code-block|splitter|meter)|lucide-react/;

export default defineConfig({
  root: folder("."),
  base: "/console/",
  publicDir: folder("public"),
  // The server replaces this text by a nonce of its own in every response.
  html: { cspNonce: "CSP_NONCE" },
  build: {
    outDir: folder("../dist/console"),
    emptyOutDir: true,
    // The server reads in it what the screen of an address needs.
    manifest: "manifest.json",
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    // A browser asks for six files at a time: what the first page needs is one file, not thirty, and so are the small
    // parts and icons of the others. Parts with a library of their own are not among them.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "console", tags: ["$initial"], priority: 1 },
            { name: "parts", test: smallParts, minShareCount: 3 },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ["/v1", "/api", "/health", "/docs", "/openapi.json", "/console/session"].map((path) => [path, { target }]),
    ),
  },
});
