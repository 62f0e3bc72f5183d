/** `millrace help`: topics, and the help of commands. */
import type { Command } from "commander";
import { programFor } from "./command-line.ts";
import { usageError } from "./errors.ts";
import { nouns } from "./nouns.ts";
import type { Shell } from "./shell.ts";

/** Shows a topic, a command, or the overview. */
export async function showHelp(words: readonly string[], shell: Shell): Promise<void> {
  const [word, verb] = words.filter((one) => !one.startsWith("-"));
  if (word !== undefined && Object.hasOwn(topics, word)) return await shell.write(`${topics[word]}\n`);
  const program = await programFor(word, shell);
  if (word === undefined) return await shell.write(program.helpInformation());
  const names = nouns.map(({ name }) => name);
  const noun = program.commands.find((one) => one.name() === word);
  if (noun === undefined) {
    throw usageError(
      `there is no help about ${word}`,
      `Topics: ${Object.keys(topics).join(", ")}. Commands: ${names.join(", ")}.`,
    );
  }
  const command = noun.commands.find((one) => one.name() === verb) ?? noun;
  await shell.write((command as Command).helpInformation());
}

/** Texts of `millrace help TOPIC`. */
const topics: Readonly<Record<string, string>> = {
  "exit-codes": `Exit codes
  0    done
  1    failed
  2    usage: unknown command or flag, ambiguous name, invalid file
  3    the awaited state became a failure, or --check found something
  4    not authorised
  5    not found
  6    differences (diff --exit-code)
  7    conflict: try again
  124  not done within --timeout; the server goes on
  130  interrupted by Ctrl-C; the server goes on`,
  formats: `Output formats (-o)
  table   for people; on a terminal cut to its width
  wide    the same with more columns
  json    exactly the result of the API
  yaml    the same as YAML
  ndjson  one JSON object per line, for lists
  csv     a line per object with a header, for lists; members that are objects are JSON
  name    names, one per line
  id      ids, one per line

Results go to stdout, everything else to stderr. Times are relative in tables and ISO 8601 elsewhere.
With -o json and ndjson an error is one line of JSON on stderr: {"error": {code, message, issues, hint, retryable, requestId}}.
Colour is used only on a terminal; NO_COLOR, TERM=dumb and --no-color switch it off, FORCE_COLOR=1 on.`,
  environment: `Credentials are taken from the first of
  1. --url and --key-file (a file with id:secret, or a credentials.json)
  2. MILLRACE_URL and MILLRACE_KEY (id:secret)
  3. --context or MILLRACE_CONTEXT
  4. the current context of ~/.config/millrace/contexts.json (see \`millrace login\`)
  5. credentials.json of MILLRACE_DATA_DIR, or of the folder data here or in a folder above
--debug says which one is used.

  MILLRACE_ACCESS_TOKEN  access token for charts and their sources
  XDG_CONFIG_HOME        folder of the configuration instead of ~/.config
  NO_COLOR, FORCE_COLOR, TERM=dumb`,
  "apply-file": [
    "Files of apply, diff and export (YAML or JSON, several documents per file)",
    "  kind: Service | BackupSchedule | Pipe | Source | Key | Webhook | SavedSearch | Dashboard | Alert",
    "  name: clicks",
    "  service: analytics        of a Pipe, Source or BackupSchedule",
    "  id: 0e0b...               optional: pins one of several with the name",
    "  spec: {...}               the body of the create operation of the API",
    "",
    "References in values, also in files of pipe create and pipe update:",
    "  $" + "{env:NAME}    variable of the environment",
    "  $" + "{file:PATH}   content of a file, from the folder of the document",
    "  $" + "{var:NAME}    --var NAME=VALUE (apply and diff)",
    "",
    "Secrets belong into references: they are not compared, and --update-secrets sends them again.",
    "Members that the file does not name stay as they are. A replacement is never made silently.",
  ].join("\n"),
};
