/**
 * Tables, views and dictionaries that the engine cannot load at its start. One of them would end every start, so their
 * definitions are taken out of use: the engine skips a definition with a file `.detached` beside it. Data and
 * definition stay, and `ATTACH` tries again.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scarcityCodes } from "../../clickhouse/error-codes.ts";

export type Unloaded = {
  readonly database: string;
  readonly name: string;
  /** What the engine said. */
  readonly reason: string;
};

/** Precedes, in the engine's message, the name of what it could not load. */
const marker = "DB::Exception: Load job 'load table ";
const ending = "' failed: ";
const mark = ".detached";
const maxReason = 300;
/** More than the longest names; what follows is the definition, which the message repeats. */
const maxFailure = 2_000;

/** The part of a host's output that says what could not be loaded; undefined when the start failed otherwise. */
export function loadFailureIn(output: string): string | undefined {
  const at = output.indexOf(marker);
  return at === -1 ? undefined : output.slice(at + marker.length, at + marker.length + maxFailure);
}

/** Out of memory, files or disk (`errno` of Linux): says nothing of the table. */
const scarceErrno = /^Code: \d+\. DB::ErrnoException: .*, errno: (?:12|23|24|28), strerror: /s;

function isScarcity(reason: string): boolean {
  const [, code] = /^Code: (\d+)\./.exec(reason) ?? [];
  return scarcityCodes.has(Number(code)) || scarceErrno.test(reason);
}

/**
 * Takes the object that the failure names out of use. Changes nothing when there is none of this name, or when the
 * engine could not load it for lack of something: the start fails, and is tried again.
 */
export function takeOutOfUse(dataDir: string, failure: string): void {
  // Names may hold anything, also the words of the message: the one that fits is looked for among those that exist.
  const found = definitionsIn(dataDir).filter(({ database, name }) =>
    failure.startsWith(`${database}.${name}${ending}`),
  );
  const [first] = found.toSorted((a, b) => a.name.length - b.name.length);
  if (first === undefined) return;
  const [reason = ""] = failure
    .slice(`${first.database}.${first.name}${ending}`.length)
    .split(": Cannot attach table ");
  if (isScarcity(reason)) return;
  writeFileSync(`${first.path}${mark}`, reason.slice(0, maxReason), { mode: 0o600 });
}

/** What was taken out of use at this start or an earlier one. Users may have detached others, whose files are empty. */
export function outOfUseIn(dataDir: string): Unloaded[] {
  return definitionsIn(dataDir).flatMap(({ database, name, path }) => {
    const reason = existsSync(`${path}${mark}`) ? readFileSync(`${path}${mark}`, "utf8") : "";
    return reason === "" ? [] : [{ database, name, reason }];
  });
}

type Definition = { readonly database: string; readonly name: string; readonly path: string };

function definitionsIn(dataDir: string): Definition[] {
  const metadata = join(dataDir, "metadata");
  return entriesOf(metadata).flatMap((folder) =>
    entriesOf(join(metadata, folder))
      .filter((file) => file.endsWith(".sql"))
      .map((file) => ({
        database: unescaped(folder),
        name: unescaped(file.slice(0, -".sql".length)),
        path: join(metadata, folder, file),
      })),
  );
}

/** Nothing of what is not a folder. */
function entriesOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** The engine writes every byte of a name but letters, digits and `_` as `%` and two digits. */
function unescaped(file: string): string {
  return Buffer.from(
    file.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    "latin1",
  ).toString();
}
