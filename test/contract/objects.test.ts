import { MemoryObjects } from "../../harness/objects/memory-store.ts";
import { keptMarks, testContext } from "../../harness/sources/source-context.ts";
import { type At, type ContractCase, describeSource, type World } from "../../harness/sources/source-contract.ts";
import { ClickHouseError } from "../../src/clickhouse/client.ts";
import type { SourceContext } from "../../src/sources/contract/source.ts";
import { type ObjectDurable, objectShapes } from "../../src/sources/object-storage/declaration/durable.ts";
import type { ObjectStorageConfig } from "../../src/sources/object-storage/declaration/kind.ts";
import { ObjectSource } from "../../src/sources/object-storage/source.ts";

const objects = new Map<string, string>(
  Array.from({ length: 17 }, (_, i) => [`in/${String(i).padStart(2, "0")}.json`, `row ${i}a\nrow ${i}b`] as const),
);
objects.set("in/05.json", "unreadable");
objects.set("in/{x}.json", "odd key");
objects.set("in/no-format.bin", "x");
objects.set("elsewhere/1.json", "not wanted");

const memoryStore = () => new MemoryObjects(objects, { perPage: 5, etagOf: ({ length }) => `"${length}"` });

const config: ObjectStorageConfig = { url: "http://host/bucket/in/*" };

let lives = 0;

function contextOf(world: World, at: At): SourceContext<ObjectDurable> {
  lives += 1;
  return testContext({
    // Each worker has another number of files per batch.
    settings: { object_storage_max_file_count: 1 + (lives % 5), object_storage_max_insert_bytes: 2 ** 30 },
    ledger: keptMarks<ObjectDurable>(objectShapes, world.marks, at, (counts) => world.count(counts)),
    destination: {
      query: async () => {
        throw new ClickHouseError(117, 400, "Code: 117. Unreadable");
      },
    },
  });
}

const open = async (world: World, at: At) =>
  new ObjectSource({ config, context: contextOf(world, at), store: memoryStore(), pattern: "in/*" });

const rowsBelow = (prefix: string) =>
  [...objects]
    .filter(([key]) => key.startsWith(prefix) && key !== "in/05.json" && key !== "in/no-format.bin")
    .flatMap(([, content]) => content.split("\n"));

const engine: Pick<ContractCase, "rowsOf" | "engineError"> = {
  rowsOf: async (insert) =>
    (JSON.parse(insert.params?.keys ?? "[]") as string[]).flatMap((key) => (objects.get(key) as string).split("\n")),
  engineError: (rows) =>
    rows.includes("unreadable") ? new ClickHouseError(117, 400, "Code: 117. DB::Exception: Unreadable") : undefined,
};

describeSource("object storage", () => ({
  ...engine,
  durable: objectShapes,
  open,
  expected: rowsBelow("in/"),
  rejected: 2,
}));

/** Everything is loaded and the cursor is at the end, when the user wants some objects once more. */
function loadedBefore(world: World): void {
  if (world.marks.size > 0) return;
  for (const [key, { length }] of objects) {
    const etag = `"${length}"`;
    world.marks.set(
      `o:${key}`,
      key.startsWith("in/0") ? { etag, result: "again", again: 3 } : { etag, result: "loaded" },
    );
  }
  world.marks.set("cursor:0/1", "in/{x}.json");
  world.marks.set("again", { prefixes: ["in/0"] });
}

describeSource("objects that are loaded once more", () => ({
  ...engine,
  durable: objectShapes,
  open: async (world, at) => {
    loadedBefore(world);
    return await open(world, at);
  },
  expected: rowsBelow("in/0"),
  rejected: 1,
}));
