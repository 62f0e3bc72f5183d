/** What a kind of source is, and what a runtime can do, has one place each: no other file asks by the name of one. */
import { expect, test } from "vitest";
import { filesBelow, programFiles, read } from "../../scripts/house.ts";
import { runtimeTraits } from "../../src/api/runtimes.ts";
import { sourceDescriptions, sourceKindKeys } from "../../src/sources/contract/descriptions.ts";

/** Files that name a kind, each with the reason why it cannot be otherwise. */
const allowed: Readonly<Record<string, string>> = {
  "src/sources/contract/descriptions.ts": "the registry",
  "src/sources/contract/registry.ts": "the registry",
  "src/sources/connectors.ts": "the registry",
  "src/cloud-api/dialect.ts": "members of another API, which differ by kind",
  "src/cloud-api/pipes.ts": "a setting of another API that one kind has",
  "src/cloud-api/perform.ts": "members of another API, which differ by kind",
  "src/api/keys.ts": "the role of a key that may only push",
  "src/api/sent-rows.ts": "the role of a key that may only push",
  "src/http/caller/context.ts": "the role of a key that may only push",
  "src/http/handlers/organization/organizations.ts": "the role of a key that may only push",
  "src/http/push/admission.ts": "the role of a key that may only push",
  "src/cli/commands/key.ts": "the role of a key that may only push",
  "src/api/examples.ts": "the role of a key that may only push",
  "src/demo/main.ts": "the demo is a client: it makes pipes of one kind",
  "console/src/api/role.ts": "the role of a key that may only push",
  "console/src/features/pipes/send-panel.tsx": "the role of a key that may only push",
  "src/engine/sql/lists/lists.ts": "ClickHouse's table functions for object storage, not the kind",
  "src/engine/sql/rules/definitions.ts": "ClickHouse's engines for object storage, not the kind",
  "src/engine/sql/rules/table-function.ts": "ClickHouse's table functions for object storage, not the kind",
};

const words = Object.values(sourceDescriptions).map(({ word }) => word);
/** `objects` is a word of many things, as a text too. */
const quoted = words.filter((word) => word !== "objects").join("|");
/** `push` is a method of lists and a folder, too. */
const keys = sourceKindKeys.map((key) => (key === "push" ? "push(?<![.#]push)(?![/(])" : key));
const name = new RegExp(`\\b(?:${keys.join("|")})\\b|["'\`](?:${quoted})["'\`]`);

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

function namesKind(file: string): boolean {
  return name.test(withoutComments(read(file)));
}

test("a kind of source is named in its folder and in the registry alone", () => {
  const console = [".ts", ".tsx"].flatMap((ending) => filesBelow("console/src", ending));
  const program = [...programFiles(), ...console.filter((file) => !/\.test\.tsx?$/.test(file))];
  const outside = program.filter((file) => !/^src\/sources\/[^/]+\//.test(file));
  expect(outside.filter((file) => !Object.hasOwn(allowed, file) && namesKind(file))).toEqual([]);
});

test("every exception is one", () => {
  expect(Object.keys(allowed).filter((file) => !namesKind(file))).toEqual([]);
});

test("a name is found in code and in texts, and not in comments", () => {
  expect(name.test(withoutComments('if (kind === "relationalDb") return;'))).toBe(true);
  expect(name.test(withoutComments('if (word === "kafka") return;'))).toBe(true);
  expect(name.test(withoutComments("/** As `source.relationalDb.host`. */"))).toBe(false);
});

/** Files that name a runtime, each with the reason why it cannot be otherwise. */
const namesRuntimes: Readonly<Record<string, string>> = {
  "src/api/runtimes.ts": "the table of traits",
  "src/api/examples.ts": "an example of a request",
  "src/store/nodes/node-id.ts": "a query of the column",
  "src/store/services/service-moves.ts": "writes the column when a service has moved",
  "src/store/services/service-connections.ts": "writes the column by what a new service has",
  "src/http/handlers/services/kubernetes-services.ts": "makes the services of one runtime",
  "src/cli/commands/service-create.ts": "the flag --kubernetes",
  "src/cli/commands/service-external.ts": "the flag --external",
  "src/cli/commands/service-move.ts": "the value of the flag --to",
};

const runtime = new RegExp(`["'](?:${Object.keys(runtimeTraits).join("|")})["']`);

test("a runtime is named in its files and in the table of traits alone", () => {
  const naming = programFiles().filter((file) => runtime.test(withoutComments(read(file))));
  const outside = naming.filter((file) => !file.startsWith("src/services/runtimes/"));
  expect(outside.toSorted()).toEqual(Object.keys(namesRuntimes).toSorted());
});
