/**
 * Attempts of a confined process: a Node program that evaluates one expression after another and reports each result.
 * Only the confinement restricts it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Rules } from "../src/confinement/rules.ts";
import { type ConfinedOptions, spawnConfined } from "../src/confinement/spawn.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

const preamble = `
const { createRequire } = await import("node:module");
const require = createRequire(${JSON.stringify(root)});
const [fs, net, dgram, child] = ["node:fs", "node:net", "node:dgram", "node:child_process"].map(require);
const opened = (emitter, event) => new Promise((resolve, reject) => emitter.once(event, resolve).once("error", reject));
const connect = (to) => opened(net.connect(to), "connect");
const listen = (at) => opened(net.createServer().listen(at), "listening");
const run = (file, ...args) => child.execFileSync(file, args, { stdio: "ignore" });
function syscall(number, ...args) {
  const ffi = require("ffi-rs");
  ffi.open({ library: "c", path: "" });
  const paramsValue = [number, ...args, 0, 0, 0, 0, 0, 0].slice(0, 7);
  const paramsType = paramsValue.map((value) => (typeof value === "number" ? ffi.DataType.I64 : ffi.DataType.U8Array));
  const answer = ffi.load({ library: "c", funcName: "syscall", retType: ffi.DataType.I64, paramsType, paramsValue, errno: true });
  if (answer.value === -1) throw Object.assign(new Error(answer.errnoMessage), { code: "errno " + answer.errnoCode });
  return answer.value;
}
/** struct sockaddr_in of a loopback port. */
const loopback = (port) => Buffer.from([2, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
`;

/** Outcome of each attempt: `done`, or the code of its error. */
export type Outcomes = Record<string, string>;

/** Without rules the process is not confined. */
export async function attempt(
  attempts: Readonly<Record<string, string>>,
  rules: Rules | undefined,
  options: Pick<ConfinedOptions, "landlock"> = {},
): Promise<Outcomes> {
  const tries = Object.entries(attempts).map(
    ([name, expression]) =>
      `try { await (async () => ${expression})(); outcomes[${JSON.stringify(name)}] = "done"; }
       catch (error) { outcomes[${JSON.stringify(name)}] = String(error.code ?? error.message); }`,
  );
  const program = `${preamble}; const outcomes = {}; ${tries.join("\n")}
    process.send(outcomes, () => process.exit(0));`;
  const args = ["--input-type=module", "--eval", program];
  const stdio = ["ignore", "ignore", "inherit", "ipc"] as const;
  const process_ =
    rules === undefined
      ? spawn(process.execPath, args, { stdio: [...stdio] })
      : spawnConfined(process.execPath, args, rules, { stdio: [...stdio], environment: {}, ...options });
  const [outcomes] = (await Promise.race([
    once(process_, "message"),
    once(process_, "exit").then(([code, signal]) => {
      throw new Error(`the probe ended without an answer: ${code ?? signal}`);
    }),
  ])) as [Outcomes];
  return outcomes;
}
