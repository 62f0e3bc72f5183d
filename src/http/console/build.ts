/** The built console: where its files are, and whether they are current. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../lib/program.ts";

/** The folder that the build writes. */
export const consoleFolder = join(packageRoot, "dist", "console");

const builder = join(packageRoot, "scripts", "build-console.ts");
const inputs = ["console", "src/cli/client/operations.ts", "package-lock.json"];
const notBuilt = /\.(md|test\.tsx?)$/;

/** Identifies the sources and library versions of a build. */
export function inputsId(): string {
  const hash = createHash("sha256");
  for (const input of inputs) {
    const path = join(packageRoot, input);
    const files = input === "console" ? readdirSync(path, { recursive: true, withFileTypes: true }) : undefined;
    const names = files?.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name)) ?? [path];
    for (const name of names.filter((file) => !notBuilt.test(file)).toSorted())
      hash.update(name.slice(packageRoot.length)).update(readFileSync(name));
  }
  return hash.digest("hex").slice(0, 32);
}

export type ConsoleState =
  | { readonly kind: "ready" }
  | { readonly kind: "building" }
  /** Nothing can be built here; says what to do. */
  | { readonly kind: "absent"; readonly sentence: string };

/**
 * In a checkout, builds the console at the first request if its files are missing or stale. A published package
 * contains the built files, and nothing to build them with.
 */
export class ConsoleBuild {
  #state: ConsoleState | undefined;
  #child: ChildProcess | undefined;

  /** Never waits: while a build runs, the result says so. */
  state(): ConsoleState {
    this.#state ??= this.#begin();
    return this.#state;
  }

  /** Ends a build that runs. */
  close(): void {
    this.#child?.kill("SIGKILL");
  }

  #begin(): ConsoleState {
    const isBuilt = existsSync(join(consoleFolder, "index.html"));
    if (!existsSync(builder)) return isBuilt ? { kind: "ready" } : absent("This package contains no console.");
    if (isBuilt && readBuildId() === inputsId()) return { kind: "ready" };
    if (!existsSync(join(packageRoot, "node_modules", "vite"))) {
      return isBuilt
        ? { kind: "ready" }
        : absent("Run `npm install` without --omit=dev, then `npm run build:console`.");
    }
    const child = spawn(process.execPath, [builder], { cwd: packageRoot, stdio: "ignore" });
    this.#child = child;
    child.once("error", () => this.#ended(1));
    child.once("exit", (code) => this.#ended(code));
    return { kind: "building" };
  }

  #ended(code: number | null): void {
    const built = code === 0 || existsSync(join(consoleFolder, "index.html"));
    this.#state = built ? { kind: "ready" } : absent("The build failed; `npm run build:console` says why.");
  }
}

function absent(sentence: string): ConsoleState {
  return { kind: "absent", sentence };
}

function readBuildId(): string | undefined {
  try {
    return readFileSync(join(consoleFolder, "build-id"), "utf8");
  } catch {
    return undefined;
  }
}
