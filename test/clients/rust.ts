/**
 * The crate clickhouse, which holds its integration tests: they ask http://localhost:8123 without a password. The crate
 * klickhouse, by a program of ours.
 */
import { appendFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MissingTool } from "../../harness/missing.ts";
import { startLoginRelay } from "./login-relay.ts";
import { addressOf, scriptOutcome, scripts } from "./smoke.ts";
import { cacheFolder, type Outcome, prepareWith, runTool, type Suite } from "./suite.ts";
import { versions } from "./versions.ts";

const install = "install Rust (https://rustup.rs)";
const port = 8123;

export const rust: Suite = {
  client: "clickhouse (Rust)",
  version: versions.rust,
  kind: "official",
  run: async (target) => {
    const folder = await fetchCrate();
    const env = { ...(await toolchain()), CARGO_TARGET_DIR: cacheFolder("rust-target") };
    const build = ["test", "--test", "it", "--all-features"];
    await prepareWith("the suite of the crate clickhouse", "cargo", [...build, "--no-run"], {
      install,
      cwd: folder,
      env,
    });
    using _relay = await startLoginRelay(port, target).catch(() => {
      throw new MissingTool(`port ${port} is taken: the suite of the crate clickhouse has it as a constant`);
    });
    const run = { install, cwd: folder, env, timeoutMs: 5 * 60_000 };
    return outcomeOf((await runTool("cargo", [...build, "--", "--test-threads=4"], run)).output);
  },
};

export const klickhouse: Suite = {
  client: "klickhouse (Rust, native)",
  version: versions.klickhouse,
  kind: "smoke",
  note: "its own tests were not tried",
  run: async (target) => {
    const folder = cacheFolder(`klickhouse-${versions.klickhouse}`);
    const env = { ...(await toolchain()), CARGO_TARGET_DIR: join(folder, "target") };
    mkdirSync(join(folder, "src"), { recursive: true });
    cpSync(join(scripts, "klickhouse.rs"), join(folder, "src", "main.rs"));
    const others = 'tokio = { version = "1", features = ["full"] }\nfutures-util = "0.3"\n';
    const head = '[package]\nname = "smoke"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n';
    writeFileSync(join(folder, "Cargo.toml"), `${head}klickhouse = "=${versions.klickhouse}"\n${others}`);
    await prepareWith("the crate klickhouse", "cargo", ["build", "-q"], { install, cwd: folder, env });
    const given = { install, env: addressOf(target), timeoutMs: 3 * 60_000 };
    return scriptOutcome((await runTool(join(folder, "target", "debug", "smoke"), [], given)).output);
  },
};

/** Cargo unpacks a crate only as a dependency of another. */
async function fetchCrate(): Promise<string> {
  const folder = cacheFolder(`clickhouse-rs-${versions.rust}`);
  if (existsSync(join(folder, "tests"))) return folder;
  const shell = cacheFolder("rust-fetch");
  mkdirSync(join(shell, "src"), { recursive: true });
  writeFileSync(join(shell, "src", "lib.rs"), "");
  const head = '[package]\nname = "fetch"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n';
  writeFileSync(join(shell, "Cargo.toml"), `${head}clickhouse = "=${versions.rust}"\n`);
  const given = { install, cwd: shell, env: await toolchain() };
  await prepareWith("the crate clickhouse", "cargo", ["fetch"], given);
  const described = await prepareWith("the crate clickhouse", "cargo", ["metadata", "--format-version=1"], given);
  const json = described.slice(described.indexOf("{"), described.lastIndexOf("}") + 1);
  const { packages } = JSON.parse(json) as { packages: { name: string; manifest_path: string }[] };
  const manifest = packages.find(({ name }) => name === "clickhouse")?.manifest_path as string;
  cpSync(join(manifest, ".."), folder, { recursive: true });
  // Publishing removes this dependency of the tests from the manifest, because it is in the same repository.
  const arrow = `[dev-dependencies.clickhouse-ext-arrow]\nversion = "=${versions.rustArrow}"`;
  appendFileSync(join(folder, "Cargo.toml"), `\n${arrow}\n[patch.crates-io]\nclickhouse = { path = "." }\n`);
  return folder;
}

/** The crate's file of tool chains names one that rustup would download: the installed one is used instead. */
async function toolchain(): Promise<Record<string, string>> {
  const { status, output } = await runTool("rustup", ["default"], { install });
  return status === 0 ? { RUSTUP_TOOLCHAIN: output.split(" ")[0] as string } : {};
}

function outcomeOf(output: string): Outcome {
  const total = /(\d+) passed; (\d+) failed; (\d+) ignored/.exec(output);
  if (total === null) throw new MissingTool(`the suite of the crate clickhouse did not end: ${output.slice(-200)}`);
  // The list of failures at the end.
  const failed = [...new Set([...output.matchAll(/^ {4}(\w+(?:::\w+)+)$/gm)].map(([, name]) => name as string))];
  return { passed: Number(total[1]), failed: failed.slice(0, Number(total[2])), skipped: Number(total[3]) };
}
