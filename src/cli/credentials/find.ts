/** Which server a command talks to, and as whom. The first place that names credentials wins. */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Surroundings } from "../environment.ts";
import { CliError, exitCodes, usageError } from "../errors.ts";
import { contextsFile, readContexts } from "./contexts.ts";

export type FoundCredentials = {
  readonly baseUrl: string;
  readonly observabilityBaseUrl: string;
  readonly organizationId: string | undefined;
  readonly keyId: string;
  readonly keySecret: string;
  readonly accessToken: string | undefined;
  /** Where they were found, for --debug. */
  readonly origin: string;
};

export type CredentialFlags = {
  readonly url?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly context?: string | undefined;
};

const defaultUrl = "http://127.0.0.1:8150";

/**
 * The order: flags, `MILLRACE_URL` and `MILLRACE_KEY`, the context of a flag or of `MILLRACE_CONTEXT`, the current
 * context, the credentials that a server wrote into the folder `data` here or above. Throws with what to run if there
 * is none.
 */
export function findCredentials(flags: CredentialFlags, surroundings: Surroundings): FoundCredentials {
  const { env } = surroundings;
  const given = keyOf(flags, surroundings);
  // The URL of a key alone is that of the server that the commands here are about.
  const stored = () => fromContext(flags, surroundings) ?? fromDataFolder(surroundings);
  if (given !== undefined) {
    const baseUrl = flags.url ?? given.baseUrl ?? (env.MILLRACE_URL || undefined) ?? stored()?.baseUrl;
    return complete({ ...given, baseUrl }, given.origin, env);
  }
  const found = stored();
  if (found === undefined) throw noCredentials();
  // A command that is meant for one server must not run on another. A context that is named has its own.
  const url = flags.url ?? (flags.context === undefined && env.MILLRACE_URL ? env.MILLRACE_URL : found.baseUrl);
  if (new URL(checkedUrl(url)).origin === new URL(found.baseUrl).origin) return found;
  throw usageError(`${found.origin} is not for ${url}`, "Name the key too: --key-file FILE, or set MILLRACE_KEY.");
}

function keyOf(flags: CredentialFlags, { env, cwd }: Surroundings): (Partial & { origin: string }) | undefined {
  const { keyFile } = flags;
  if (keyFile !== undefined) return { ...readKeyFile(resolve(cwd, keyFile)), origin: `--key-file ${keyFile}` };
  if (!env.MILLRACE_KEY) return undefined;
  return { ...parseKey(env.MILLRACE_KEY, "MILLRACE_KEY"), origin: "MILLRACE_KEY" };
}

type Partial = {
  readonly baseUrl?: string | undefined;
  readonly observabilityBaseUrl?: string | undefined;
  readonly organizationId?: string | undefined;
  readonly keyId: string;
  readonly keySecret: string;
  readonly accessToken?: string | undefined;
};

function complete(found: Partial, origin: string, env: Surroundings["env"]): FoundCredentials {
  const baseUrl = checkedUrl(found.baseUrl ?? defaultUrl);
  const { keyId, keySecret, organizationId } = found;
  const accessToken = env.MILLRACE_ACCESS_TOKEN || found.accessToken;
  const observabilityBaseUrl = found.observabilityBaseUrl ?? baseUrl;
  return { baseUrl, observabilityBaseUrl, organizationId, keyId, keySecret, accessToken, origin };
}

function checkedUrl(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw usageError(`${url} is not the URL of a server`, `It looks like ${defaultUrl}.`);
  }
  return url;
}

function fromContext(flags: CredentialFlags, surroundings: Surroundings): FoundCredentials | undefined {
  const { env } = surroundings;
  const file = contextsFile(surroundings);
  const { current, contexts } = readContexts(file);
  const name = flags.context ?? (env.MILLRACE_CONTEXT || current);
  if (name === undefined) return undefined;
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context === undefined) {
    const known = Object.keys(contexts).join(", ") || "none";
    throw new CliError(`there is no context ${name}`, {
      exitCode: exitCodes.notFound,
      code: "NOT_FOUND",
      hint: `Contexts: ${known}. \`millrace login\` makes one.`,
    });
  }
  const origin = `context ${name} of ${file}`;
  const key = context.keyCommand === undefined ? context : parseKey(outputOf(context.keyCommand), "keyCommand");
  return complete({ ...context, ...key } as Partial, origin, env);
}

function outputOf(command: string): string {
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  return execFileSync("/bin/sh", ["-c", command], { encoding: "utf8", stdio: ["inherit", "pipe", "inherit"] });
}

/** The file that `serve` writes: of `MILLRACE_DATA_DIR`, or of `data` in this folder or one above. */
function fromDataFolder({ env, cwd }: Surroundings): FoundCredentials | undefined {
  const folders = env.MILLRACE_DATA_DIR ? [resolve(cwd, env.MILLRACE_DATA_DIR)] : upwards(cwd);
  for (const folder of folders) {
    const file = join(folder, "credentials.json");
    if (isOwn(file)) return complete(readKeyFile(file), file, env);
  }
  return undefined;
}

function upwards(folder: string): string[] {
  const above = dirname(folder);
  return [join(folder, "data"), ...(above === folder ? [] : upwards(above))];
}

/** A file of another user could send commands, and what they carry, to that user's server. */
function isOwn(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true && [process.getuid?.(), 0].includes(found.uid);
}

/** A key file holds `id:secret`, or the credentials that a server wrote. */
export function readKeyFile(file: string): Partial {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw usageError(`cannot read the key file ${file}`);
  }
  if (!text.trimStart().startsWith("{")) return parseKey(text, file);
  try {
    const parsed = JSON.parse(text) as Partial;
    if (typeof parsed.keyId === "string" && typeof parsed.keySecret === "string") return parsed;
  } catch {
    // The message below covers it.
  }
  throw usageError(`${file} has no keyId and keySecret`);
}

function parseKey(text: string, place: string): { keyId: string; keySecret: string } {
  const [, keyId, keySecret] = /^\s*([^:\s]+):(\S+)\s*$/.exec(text) ?? [];
  if (keyId === undefined || keySecret === undefined) throw usageError(`${place} must hold a key as id:secret`);
  return { keyId, keySecret };
}

function noCredentials(): CliError {
  return new CliError("no server is known: run `millrace serve` here, or `millrace login --url URL --key-file FILE`", {
    exitCode: exitCodes.unauthorized,
    code: "UNAUTHORIZED",
    hint: "Or set MILLRACE_URL and MILLRACE_KEY (id:secret). `millrace help environment` says more.",
  });
}
