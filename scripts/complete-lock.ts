/**
 * Completes `package-lock.json` with the optional packages of other platforms that npm has left out, because the
 * registry it asked does not have them. To be run after an `npm install` that dropped them: `npm run complete-lock`.
 * What the registry knows of a package is taken from there; else its version is the one that its parent names, its
 * platform the one that its name tells, and it has no integrity until this runs with a registry that has the package.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type LockEntry, type LockFile, type Missing, missingOptional, placeOf, platformOf } from "./lock-file.ts";

const file = fileURLToPath(new URL("../package-lock.json", import.meta.url));
const lock = JSON.parse(readFileSync(file, "utf8")) as LockFile;
const packages: Record<string, LockEntry> = { ...lock.packages };

for (const missing of missingOptional(lock)) packages[missing.place] = entryOf(missing);
const withoutIntegrity = Object.entries(packages).filter(([place, entry]) => place !== "" && !entry.integrity);
for (const [place, entry] of withoutIntegrity) {
  const known = ask(place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length), entry.version as string);
  packages[place] = inOrder({ ...entry, ...known });
}

const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, "en"));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
const open = sorted.filter(([place, entry]) => place !== "" && !entry.integrity).map(([place]) => place);
console.log(`${missingOptional(lock).length} entries added; without integrity: ${open.join(", ") || "none"}`);

function entryOf({ parent, name, range }: Missing): LockEntry {
  if (!/^\d+\.\d+\.\d+/.test(range)) throw new Error(`${parent} names no exact version of ${name}, but ${range}`);
  const platform = platformOf(name);
  if (platform === undefined) throw new Error(`the name ${name} tells no platform; add its entry by hand`);
  const { dev, bin, engines, license } = { ...sibling(parent, name), dev: lock.packages[parent]?.dev };
  const described = { license, engines, bin };
  const kept = Object.entries(described).filter(([, value]) => value !== undefined);
  const flags = dev === true ? { dev, optional: true } : { optional: true };
  return { version: range, ...platform, ...flags, ...Object.fromEntries(kept) };
}

/** In npm's own order, so that npm changes nothing: lists and strings before objects. */
function inOrder(entry: LockEntry): LockEntry {
  const rank = ([name, value]: [string, unknown]) => {
    if (name === "version" || name === "integrity") return name === "version" ? 0 : 1;
    return typeof value === "object" && !Array.isArray(value) ? 3 : 2;
  };
  const members = Object.entries(entry).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members.sort((a, b) => rank(a) - rank(b) || (a[0] < b[0] ? -1 : 1)));
}

/** A package of the same parent that has an entry: packages for different platforms differ only in the platform. */
function sibling(parent: string, name: string): LockEntry | undefined {
  const ours = name.startsWith("@") ? name.split("/")[0] : name.split("-")[0];
  const others = Object.keys(lock.packages[parent]?.optionalDependencies ?? {});
  const place = others
    .filter((other) => other.startsWith(ours as string))
    .map((other) => placeOf(lock.packages, parent, other))
    .find((found) => found !== undefined);
  return place === undefined ? undefined : lock.packages[place];
}

/** The registry's data of a version; undefined when the registry does not have it. */
function ask(name: string, version: string): LockEntry | undefined {
  const fields = ["version", "dist.integrity", "os", "cpu", "libc"];
  try {
    const question = ["view", `${name}@${version}`, ...fields, "--json"];
    const answer = execFileSync("npm", question, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const { "dist.integrity": integrity, ...facts } = JSON.parse(answer) as LockEntry & { "dist.integrity": string };
    return { ...facts, integrity };
  } catch {
    return undefined;
  }
}
