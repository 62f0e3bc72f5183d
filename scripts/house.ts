/** The rooms of `src/`, their layers, and who imports whom. The architecture tests and `scripts/layers.ts` read it. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../", import.meta.url));

/**
 * The first matching pattern determines a file's room; each kind of source is one. A room imports from lower layers and
 * from itself.
 */
const rooms: readonly (readonly [layer: number, room: string, files: RegExp])[] = [
  [9, "processes, main, bootstrap, network", /^src\/(processes\/|(main|bootstrap|network)\.ts$)/],
  [8, "http", /^src\/http\//],
  [8, "alerts", /^src\/alerts\//],
  [8, "demo", /^src\/demo\//],
  [8, "cli", /^src\/cli\//],
  [7, "services", /^src\/services\//],
  [7, "pipes", /^src\/pipes\//],
  [7, "backups", /^src\/backups\//],
  [7, "charts", /^src\/charts\//],
  [6, "engine", /^src\/engine\//],
  [5, "config", /^src\/config(\/|\.ts$)/],
  [5, "endpoint", /^src\/endpoint\//],
  [5, "sources/connectors", /^src\/sources\/connectors\.ts$/],
  [2, "sources: contract and declarations", /^src\/sources\/(contract|[^/]+\/declaration)\//],
  [3, "sources/aws", /^src\/sources\/aws\//],
  [3, "sources/messages", /^src\/sources\/messages\//],
  [4, "sources/<kind>", /^src\/sources\/([^/]+)\//],
  [4, "cloud-api", /^src\/cloud-api\//],
  [4, "store", /^src\/store\//],
  [3, "api", /^src\/api\//],
  [1, "clickhouse", /^src\/clickhouse\//],
  [1, "confinement", /^src\/confinement\//],
  [1, "outgoing", /^src\/outgoing\//],
  [0, "lib", /^src\/lib\//],
];

export type Room = { readonly layer: number; readonly name: string };

/** Throws for a file that belongs to no room. */
export function roomOf(file: string): Room {
  for (const [layer, name, files] of rooms) {
    const found = files.exec(file);
    if (found !== null) return { layer, name: name.replace("<kind>", found[1] ?? "") };
  }
  throw new Error(`${file} stands in no room of AGENTS.md`);
}

/** Files below a folder of the repository, as paths from its root. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
}

/** The source files of the program, without tests. */
export function programFiles(): string[] {
  return filesBelow("src", ".ts").filter((file) => !/\.(test|d)\.ts$/.test(file));
}

export function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** The project's files that a file imports: its static, type and lazy imports alike. */
export function importsOf(file: string): string[] {
  const found = read(file).matchAll(/^(?:import|export)\b[^"';]*?\bfrom "(\.[^"]+)"|\bimport(?:\(\s*| )"(\.[^"]+)"/gms);
  return [...found].map(([, path, lazy]) => relative(root, join(root, file, "..", (path ?? lazy) as string)));
}

export type Imports = ReadonlyMap<string, readonly string[]>;

export function importsOfAll(files: readonly string[]): Imports {
  return new Map(files.map((file) => [file, importsOf(file)]));
}

/** Groups of files that import one another, directly or indirectly: Tarjan's strongly connected components. */
export function circlesOf(imports: Imports): string[][] {
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const visit = (file: string): number => {
    const own = order.size;
    order.set(file, own);
    open.push(file);
    let low = own;
    for (const target of imports.get(file) ?? []) {
      if (target === file) circles.push([file]);
      if (!order.has(target) && imports.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, lowest.get(target) ?? (order.get(target) as number));
    }
    lowest.set(file, low);
    if (low === own) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) circles.push(circle);
    }
    return low;
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles;
}

/** Imports of a higher layer, or of another room in the same layer. */
export function wrongImports(imports: Imports): string[] {
  return [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => !allowed(roomOf(file), roomOf(target))).map((target) => `${file} -> ${target}`),
  );
}

function allowed(from: Room, to: Room): boolean {
  return to.layer < from.layer || to.name === from.name;
}

export type RoomSize = Room & { readonly files: number; readonly lines: number };

/** Every room with its size, from the top layer down. */
export function roomSizes(files: readonly string[]): RoomSize[] {
  const found = Map.groupBy(files, (file) => roomOf(file).name);
  return [...found.values()]
    .map((members) => ({
      ...roomOf(members[0] as string),
      files: members.length,
      lines: members.reduce((sum, file) => sum + read(file).split("\n").length - 1, 0),
    }))
    .sort((a, b) => b.layer - a.layer || a.name.localeCompare(b.name));
}
