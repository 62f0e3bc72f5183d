/**
 * Damaged files of every format with a native reader. Each is loaded or refused, and named; a file that ends the engine
 * is put aside, and the others are loaded exactly once. `npm run soak -- files` tries thousands.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { damageFiles } from "../../../harness/objects/damage-run.ts";
import { damaged, fileColumns, fileFormats, intactFiles } from "../../../harness/objects/damaged-files.ts";
import { FileReader } from "../../../harness/objects/file-reader.ts";
import { accessKey, startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, untilState } from "../../../harness/pipes.ts";
import { Dice } from "../../../harness/random.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const seed = 20_261_124;

test.each(fileFormats)("60 damaged files of %s are loaded or refused, with memory that is bounded", async (format) => {
  const found = await damageFiles({ format, seed, count: 60, until: Number.POSITIVE_INFINITY });
  expect(found.files).toBe(60);
  expect(found.refused).toBeGreaterThan(10);
  // What a pipe would try again and again, although the file stays as it is.
  expect(found.retried).toEqual({});
  expect(found.peakMb).toBeLessThan(1_750);
});

describe("a pipe", () => {
  let served: Served;
  let store: TestStore;
  let service: BenchService;
  beforeAll(async () => {
    [served, store] = await Promise.all([serve({ env: { MILLRACE_SQL_NETWORKS: "any" } }), startFauxqs()]);
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  type Column = { readonly name: string; readonly type: string };

  async function load(folder: string, columns: readonly Column[], isContinuous = false): Promise<string> {
    const [first] = columns as [Column];
    return await createPipe(
      served,
      service,
      pipeBody(store, `${folder}/*`, folder, {
        source: { isContinuous },
        destination: { columns, tableDefinition: { engine: { type: "MergeTree" }, sortingKey: [first.name] } },
        body: {
          fieldMappings: columns.map(({ name }) => ({ sourceField: name, destinationField: name })),
          settings: { object_storage_polling_interval_ms: 300 },
        },
      }),
    );
  }

  test("loads what is whole of a folder with damaged files, and names the others", async () => {
    const suffixes = { Parquet: "parquet", Arrow: "arrow", ORC: "orc", Avro: "avro" };
    const files: { key: string; isWhole: boolean; bytes: Buffer }[] = [];
    await using reader = await FileReader.open();
    for (const format of fileFormats) {
      const intact = await intactFiles(reader.client, format);
      const dice = new Dice(seed);
      for (let at = 0; at < 20; at += 1) {
        const bytes = dice.pick(intact);
        const isWhole = at % 4 === 0;
        // Those that an engine dies of have a test of their own.
        const given = isWhole ? bytes : damaged(bytes, intact, dice);
        if (!isWhole && (await reader.read(given, format)).kind !== "refused") continue;
        files.push({ key: `mixed/${format}-${at}.${suffixes[format]}`, isWhole, bytes: given });
      }
    }
    for (const { key, bytes } of files) await store.put(key, bytes);
    const pipeId = await load("mixed", fileColumns);
    await untilState(served, service, pipeId, "Completed");
    const wholes = files.filter(({ isWhole }) => isWhole);
    const rows = await query(
      service,
      "SELECT countIf(id = 0), count() IN (7 * 20, 300 * 20) OR count() > 0 FROM mixed",
    );
    expect(rows).toBe(`${wholes.length}\t1`);
    // Every file begins at 0 and has each id once.
    const twice =
      "SELECT count() FROM (SELECT id, count() AS c FROM mixed GROUP BY id HAVING c > " + wholes.length + ")";
    expect(await query(service, twice)).toBe("0");
    const named = (await query(service, "SELECT origin FROM mixed_pipes_error ORDER BY origin")).split("\n");
    const damagedKeys = files.filter(({ isWhole }) => !isWhole).map(({ key }) => `bucket/${key}`);
    expect(named.toSorted()).toEqual(damagedKeys.toSorted());
    const messages = await query(service, "SELECT message FROM mixed_pipes_error");
    for (const secret of [served.dataDir, process.cwd(), "SK-of-pipe"]) expect(messages).not.toContain(secret);
  });

  test.each(["zst", "lz4"])(
    "loads no row of %s text that breaks off, wherever it does, and says so",
    async (suffix) => {
      const login = `'${accessKey.accessKeyId}', '${accessKey.secretKey.replaceAll(/['\\]/g, "\\$&")}'`;
      const select = "SELECT number AS id, toString(cityHash64(number)) AS name FROM numbers(20000)";
      const written = `${suffix}/whole.json.${suffix}`;
      await query(service, `INSERT INTO FUNCTION s3('${store.url(written)}', ${login}, 'JSONEachRow') ${select}`);
      const bytes = await store.get(written);
      await store.put(`${suffix}/twice.json.${suffix}`, Buffer.concat([bytes, bytes]));
      const parts = [bytes.length >> 1, bytes.length - 1, bytes.length + (bytes.length >> 1)];
      for (const part of parts) {
        await store.put(`${suffix}/${part}.json.${suffix}`, Buffer.concat([bytes, bytes]).subarray(0, part));
      }
      const columns = [{ name: "id", type: "UInt64" }];
      await untilState(served, service, await load(suffix, columns), "Completed");
      expect(await query(service, `SELECT count(), uniqExact(id) FROM ${suffix}`)).toBe("60000\t20000");
      const message = "The compressed data of the object breaks off or is damaged.";
      expect((await query(service, `SELECT origin, message FROM ${suffix}_pipes_error`)).split("\n").sort()).toEqual(
        parts.map((part) => `bucket/${suffix}/${part}.json.${suffix}\t${message}`).sort(),
      );
    },
  );

  test("puts a file aside that ends the engine, and goes on", async () => {
    const columns = [
      { name: "a", type: "UInt64" },
      { name: "s", type: "String" },
      { name: "f", type: "Float64" },
      { name: "arr", type: "Array(Nullable(String))" },
      { name: "m", type: "Map(String, UInt32)" },
      { name: "d", type: "DateTime64(3)" },
      { name: "t", type: "Tuple(x Int8, y String)" },
    ];
    await using reader = await FileReader.open();
    const fields = columns.map(({ name, type }) => `defaultValueOfTypeName('${type}') AS ${name}`).slice(1);
    const whole = await reader.client.stream(`SELECT number AS a, ${fields} FROM numbers(100) FORMAT ORC`);
    const parts: Buffer[] = [];
    for await (const part of whole) parts.push(part as Buffer);
    for (const at of [1, 2, 4, 5]) await store.put(`poison/${at}.orc`, Buffer.concat(parts));
    await store.put("poison/3.orc", readFileSync(new URL("../engine/hostile.orc", import.meta.url)));
    const other = await runningService(served, { idleScaling: false });
    const pipeId = await load("poison", columns, true);
    const rows = async () => await query(service, "SELECT count(), uniqExact(a) FROM poison").catch(() => "");
    await until("every other file is loaded", async () => (await rows()) === "400\t100", 120_000);
    expect(await query(service, "SELECT origin, message FROM poison_pipes_error")).toBe(
      "bucket/poison/3.orc\tReading this object ends or blocks the engine of the service.",
    );
    // A pipe that has put the file aside does not end the engine again.
    await store.put("poison/6.orc", Buffer.concat(parts));
    await until("the pipe goes on", async () => (await rows()) === "500\t100");
    await untilState(served, service, pipeId, "Running");
    expect((await served.api.getService({ params: service.params })).state).toBe("running");
    expect(await query(other, "SELECT 1")).toBe("1");
  });
});
