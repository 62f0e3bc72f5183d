/** Objects in bzip2, which the embedded engine cannot read by itself. Needs the bzip2 program. */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startVersitygw, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { startStoreProxy } from "../../../harness/objects/store-proxy.ts";
import { versitygwMissing } from "../../../harness/objects/versitygw.ts";
import { columns, createPipe, details, type PipeBody, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = spawnSync("bzip2", ["--help"]).error === undefined ? versitygwMissing : "no bzip2 program";
if (missing !== undefined) console.log(`skipped: ${missing}`);

let served: Served;
let service: BenchService;
let store: TestStore;

const packed = (text: string) => execFileSync("bzip2", ["-c"], { input: text, maxBuffer: 2 ** 28 });
/** Text that hardly compresses. */
const noise = (id: number) => createHash("sha512").update(String(id)).digest("base64");
const count = async (table: string) => await query(service, `SELECT count() FROM ${table}`).catch(() => "");
const once = async (body: PipeBody) => {
  const id = await createPipe(served, service, body);
  await untilState(served, service, id, "Completed");
  return await details(served, service, id);
};

describe.skipIf(missing !== undefined)("bzip2", () => {
  beforeAll(async () => {
    [served, store] = await Promise.all([serve(), startVersitygw()]);
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  test("every text format, also without the suffix, several streams in one object, beside other compressions", async () => {
    const csv = "id,name\n1,a\n2,b\n";
    await store.put("csv/a.csv.bz2", packed(csv));
    await store.put("tsv/a.tsv.bz2", packed(csv.replaceAll(",", "\t")));
    await store.put("json/a.json.bz2", Buffer.concat([packed(`${rows(1, 2)}\n`), packed(rows(2, 3)), packed("")]));
    await store.put("json/b.json", rows(3, 5));
    await store.put("plain/a", packed("1;a\n2;b\n"));
    await once(pipeBody(store, "csv/*", "csv"));
    await once(pipeBody(store, "tsv/*", "tsv"));
    await once(pipeBody(store, "json/*", "json"));
    const fieldMappings = columns.map(({ name }, i) => ({ sourceField: `c${i + 1}`, destinationField: name }));
    const source = { format: "CSV", compression: "bz2", delimiter: ";" };
    await once(pipeBody(store, "plain/*", "plain", { source, body: { fieldMappings } }));
    for (const table of ["csv", "tsv", "plain"]) {
      expect(await query(service, `SELECT count(), sum(id), max(name) FROM ${table}`), table).toBe("2\t3\tb");
    }
    expect(await query(service, "SELECT count(), sum(id) FROM json")).toBe("4\t10");
    await store.put("docs/a.json.bz2", packed('{"a":{"b":1}}\n{"c":[2]}\n'));
    const destination = { columns: [{ name: "doc", type: "JSON" }], tableDefinition: { sortingKey: [] } };
    const body = { fieldMappings: [{ sourceField: "doc", destinationField: "doc" }] };
    await once(pipeBody(store, "docs/*", "docs", { source: { format: "JSONAsObject" }, destination, body }));
    expect(await query(service, "SELECT count(), max(doc.a.b::Int64) FROM docs")).toBe("2\t1");
  });

  test("mappings and what the store knows: path, file, the object's own size, time and version", async () => {
    const content = packed('{"a":{"b":7}}\n');
    const keys = ["sp ace+é&<1>.json.bz2", "wild{1,2}*.json.bz2", "wild1.json.bz2"];
    for (const key of keys) await store.put(`map/${key}`, content);
    const types = { n: "UInt16", path: "String", file: "String", size: "UInt64", time: "DateTime", etag: "String" };
    const fields = ["a.b", "_path", "_file", "_size", "_time", "_etag"];
    const names = Object.keys(types);
    const body = pipeBody(store, "map/*", "mapped", {
      destination: {
        columns: Object.entries(types).map(([name, type]) => ({ name, type })),
        tableDefinition: { sortingKey: ["file"] },
      },
      body: { fieldMappings: names.map((name, i) => ({ sourceField: fields[i], destinationField: name })) },
    });
    await once(body);
    const seen = await query(
      service,
      "SELECT n, path, file, size, time > now() - 3600, length(etag) >= 32 FROM mapped ORDER BY file FORMAT TSVRaw",
    );
    expect(seen.split("\n")).toEqual(
      [...keys].sort().map((key) => `7\tbucket/map/${key}\t${key}\t${content.length}\t1\t1`),
    );
  });

  test("bad rows are left out and recorded; broken objects are given up with the reason; nothing is held up", async () => {
    const good = packed(rows(0, 1000));
    await store.put("bad/rows.json.bz2", packed(`${rows(1000, 1010)}\nnonsense\n${rows(1010, 1020)}`));
    await store.put("bad/broken.json.bz2", good.subarray(0, good.length - 40));
    const flipped = Buffer.from(good);
    flipped[good.length >> 1] = (good[good.length >> 1] as number) ^ 1;
    await store.put("bad/flipped.json.bz2", flipped);
    await store.put("bad/none.json.bz2", "not bzip2");
    await store.put("bad/table.parquet.bz2", packed("PAR1"));
    await store.put("bad/good.json.bz2", good);
    const done = await once(pipeBody(store, "bad/*", "bad"));
    expect(await query(service, "SELECT count(), uniqExact(id), max(id) FROM bad")).toBe("1020\t1020\t1019");
    const recorded = await query(
      service,
      "SELECT origin, position, raw, message FROM bad_pipes_error ORDER BY origin FORMAT TSVRaw",
    );
    expect(recorded.split("\n")).toEqual([
      expect.stringMatching(/^bucket\/bad\/broken.json.bz2\t\t\tThe object is not valid bzip2: it breaks off/),
      expect.stringMatching(/^bucket\/bad\/flipped.json.bz2\t\t\tThe object is not valid bzip2: its bytes are damaged/),
      expect.stringMatching(
        /^bucket\/bad\/none.json.bz2\t\t\tThe object is not valid bzip2: it does not begin like it/,
      ),
      expect.stringMatching(/^bucket\/bad\/rows.json.bz2\trow 11\tnonsense\tCannot parse/),
      expect.stringMatching(/^bucket\/bad\/table.parquet.bz2\t\t\t/),
    ]);
    expect(done.progress).toMatchObject({ filesLoaded: 2, filesFailed: 4 });
  });

  test("a format that must be read from several places is refused at create", async () => {
    await store.put("columnar/a.parquet.bz2", packed("PAR1"));
    const refused = createPipe(served, service, pipeBody(store, "columnar/*", "columnar"));
    await expect(refused).rejects.toThrow(/Parquet inside bzip2 cannot be read; use the compression of Parquet itself/);
  });

  test("blocks that come seconds apart, as on a loaded machine, are waited for", async () => {
    await using slow = await startStoreProxy(store.endpoint);
    const lines = Array.from({ length: 5_000 }, (_, id) => JSON.stringify({ id, name: noise(id) }));
    await store.put("late/a.json.bz2", execFileSync("bzip2", ["-1", "-c"], { input: lines.join("\n") }));
    slow.pauseAmid = ({ method, url }) => (method === "GET" && url?.includes("/late/a.json") ? 3_000 : 0);
    await once(pipeBody(store, "", "late", { source: { url: `${slow.endpoint}/bucket/late/*` } }));
    expect(await query(service, "SELECT count(), uniqExact(id) FROM late")).toBe("5000\t5000");
  });

  test("a large object, killed in the middle again and again, is there once", async () => {
    // It hardly compresses, so that the object exceeds one block and kills find some of its blocks in the table.
    const size = 250_000;
    const lines = Array.from({ length: size }, (_, id) => JSON.stringify({ id, name: noise(id) }));
    const object = packed(lines.join("\n"));
    expect(object.length).toBeGreaterThan(16 * 2 ** 20);
    await store.put("large/a.json.bz2", object);
    const settings = { database_min_insert_block_size_bytes: 1_000_000 };
    const id = await createPipe(served, service, pipeBody(store, "large/*", "large", { body: { settings } }));
    const killed = new Set<number>();
    for (const file of [`pipes/${id}.pid`, `services/${service.id}/engine.pid`]) {
      await until("a block more is there", async () => Number(await count("large")) > 30_000 * killed.size);
      expect(Number(await count("large"))).toBeLessThan(size);
      await until(`${file} is killed`, async () => {
        try {
          const { pid } = JSON.parse(readFileSync(`${served.dataDir}/${file}`, "utf8")) as { pid: number };
          if (killed.has(pid)) return false;
          process.kill(pid, "SIGKILL");
          killed.add(pid);
          return true;
        } catch {
          return false;
        }
      });
    }
    await untilState(served, service, id, "Completed");
    expect(await query(service, "SELECT message FROM large_pipes_error").catch(() => "")).toBe("");
    expect(await query(service, "SELECT count(), uniqExact(id) FROM large")).toBe(`${size}\t${size}`);
  });
});
