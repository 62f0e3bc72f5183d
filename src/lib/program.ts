/** Where the files of this program are: TypeScript in a checkout, compiled JavaScript in the published package. */
import { extname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const self = fileURLToPath(import.meta.url);
const extension = extname(self);
/** `src` or `dist`. */
export const codeRoot = join(self, "..", "..");

/** The folder with package.json and docs. */
export const packageRoot = join(codeRoot, "..");

/** The program itself, for starting another one. */
export const mainFile = join(codeRoot, `main${extension}`);

/** The root module of a process or thread in `processes`. */
export function processFile(name: string): string {
  return join(codeRoot, "processes", `${name}${extension}`);
}

/** The same as a URL, for worker threads. */
export function processUrl(name: string): URL {
  return pathToFileURL(processFile(name));
}

/** What a process of ours reads to run: our code and our packages. These folders hold nothing of the operator. */
export const programFolders: readonly string[] = [
  codeRoot,
  packagesFolder(packageRoot),
  join(packageRoot, "package.json"),
];

/** An installed package finds the others in the folder that it was installed into, a checkout in its own. */
export function packagesFolder(root: string): string {
  const parts = root.split(sep);
  const outermost = parts.indexOf("node_modules");
  return outermost === -1 ? join(root, "node_modules") : parts.slice(0, outermost + 1).join(sep);
}
