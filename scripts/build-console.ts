/**
 * Builds the web console into `dist/console`, with compressed copies beside its files. With `--if-possible`, for npm's
 * `prepare`: does nothing where Vite is not installed, or where the build is current.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { consoleFolder, inputsId } from "../src/http/console/build.ts";
import { root } from "./house.ts";

/** Shorter files and other kinds gain nothing. */
const leastBytes = 1000;
const compressible = /\.(js|css|svg|html|json)$/;

const ifPossible = process.argv.includes("--if-possible");
const id = inputsId();
const idFile = join(consoleFolder, "build-id");

if (ifPossible && !existsSync(join(root, "node_modules", "vite"))) {
  console.log("The web console is not built: its tools are not installed (npm install without --omit=dev).");
} else if (ifPossible && existsSync(idFile) && readFileSync(idFile, "utf8") === id) {
  console.log("The web console is built already.");
} else {
  await buildConsole();
}

/** Writes to a folder of its own first: a server that runs meanwhile sees the old files or the new ones. */
async function buildConsole(): Promise<void> {
  // Tests set another one, with which the libraries would be built for development: half as large again, and slower.
  // biome-ignore lint/style/noProcessEnv: the libraries read it there.
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  const outDir = `${consoleFolder}.${process.pid}`;
  const configFile = join(root, "console", "vite.config.ts");
  await build({ configFile, configLoader: "native", logLevel: "error", build: { outDir } });
  compressBelow(outDir);
  writeFileSync(join(outDir, "build-id"), id);
  rmSync(consoleFolder, { recursive: true, force: true });
  renameSync(outDir, consoleFolder);
  console.log("The web console is built: dist/console.");
}

function compressBelow(folder: string): void {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (!file.isFile() || file.name === "index.html" || !compressible.test(file.name)) continue;
    const content = readFileSync(path);
    if (content.length < leastBytes) continue;
    writeFileSync(`${path}.br`, brotliCompressSync(content, quality));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  }
}
