/** Formats, compressions, Azure and outages, each with the real program and a real engine. */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountKey, azuriteMissing, startAzurite, type TestAzure } from "../../../harness/objects/azurite.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { startStoreProxy } from "../../../harness/objects/store-proxy.ts";
import { columns, createPipe, details, type PipeBody, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

if (azuriteMissing !== undefined) console.log(`skipped: ${azuriteMissing}`);

let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  [served, store] = await Promise.all([serve({ env: { MILLRACE_SQL_NETWORKS: "any" } }), startFauxqs()]);
  service = await runningService(served);
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const count = async (table: string) => await query(service, `SELECT count() FROM ${table}`).catch(() => "");
const create = (body: PipeBody) => createPipe(served, service, body);

describe("formats and compressions", () => {
  const write = async (key: string, format: string) => {
    const literal = `s3('${store.url(key)}', 'AKTEST', 'SK-of-pipe-tests\\'\\\\x', '${format}')`;
    const select = "SELECT number AS id, concat('name ', toString(number)) AS name FROM numbers(1000)";
    await query(service, `INSERT INTO FUNCTION ${literal} ${select}`);
  };
  test.each([
    ["json", "JSONEachRow", undefined],
    ["csv", "CSVWithNames", undefined],
    ["tsv", "TabSeparatedWithNames", undefined],
    ["parquet", "Parquet", undefined],
    ["avro", "Avro", undefined],
    ["orc", "ORC", undefined],
    ["arrow", "Arrow", undefined],
    ["txt", "CSV", "CSV"],
    ["txt", "TabSeparated", "TabSeparated"],
    ["json.gz", "JSONEachRow", undefined],
    ["json.br", "JSONEachRow", undefined],
    ["json.xz", "JSONEachRow", undefined],
    ["json.zst", "JSONEachRow", undefined],
    ["csv.lz4", "CSVWithNames", undefined],
  ] as const)("%s files as %s", async (suffix, written, format) => {
    const table = `f_${written}_${suffix.replaceAll(".", "_")}`;
    await write(`${table}/a.${suffix}`, written);
    const body = pipeBody(store, `${table}/*.${suffix}`, table, format === undefined ? {} : { source: { format } });
    const positional = {
      fieldMappings: columns.map(({ name }, i) => ({ sourceField: `c${i + 1}`, destinationField: name })),
    };
    await untilState(
      served,
      service,
      await create(format === undefined ? body : { ...body, ...positional }),
      "Completed",
    );
    expect(await query(service, `SELECT count(), sum(id), any(name) LIKE 'name %' FROM ${table}`)).toBe(
      "1000\t499500\t1",
    );
  });

  test("lines of CSV may end in LF, CR LF or CR, in files of one piece and of several", async () => {
    // The engine parses about 10 MB at once.
    const lines = Array.from({ length: 150_000 }, (_, id) => `${id},"a\r""b"" ${"x".repeat(80)}"`);
    for (const [name, end] of [
      ["lf", "\n"],
      ["crlf", "\r\n"],
      ["cr", "\r"],
    ] as const) {
      await store.put(`${name}/small.csv`, ["id,name", "150000,b", "150001,b", ""].join(end));
      await store.put(`${name}/large.csv.gz`, gzipSync(["id,name", ...lines].join(end)));
      await untilState(served, service, await create(pipeBody(store, `${name}/*`, name)), "Completed");
      expect(
        await query(service, `SELECT count(), uniqExact(id), uniqExact(name), max(length(name)) FROM ${name}`),
      ).toBe("150002\t150002\t2\t86");
    }
  });

  test("whole JSON objects, and another delimiter", async () => {
    await store.put("objects/a.json", '{"a":{"b":1}}\n{"c":[2]}\n');
    const destination = { columns: [{ name: "doc", type: "JSON" }], tableDefinition: { sortingKey: [] } };
    const fieldMappings = [{ sourceField: "doc", destinationField: "doc" }];
    const source = { format: "JSONAsObject" };
    await untilState(
      served,
      service,
      await create(pipeBody(store, "objects/*", "docs", { source, destination, body: { fieldMappings } })),
      "Completed",
    );
    expect(await query(service, "SELECT count(), max(doc.a.b::Int64) FROM docs")).toBe("2\t1");
    await store.put("semi/a.csv", "id;name\n1;a,b\n");
    await untilState(
      served,
      service,
      await create(pipeBody(store, "semi/*.csv", "semi", { source: { delimiter: ";" } })),
      "Completed",
    );
    expect(await query(service, "SELECT name FROM semi")).toBe("a,b");
  });
});

describe.skipIf(azuriteMissing !== undefined)("Azure Blob Storage", () => {
  let azure: TestAzure;
  beforeAll(async () => {
    azure = await startAzurite("cont");
  });
  afterAll(async () => {
    await azure?.[Symbol.asyncDispose]();
  });

  test("odd names, late names, and a connection string that is shown without its key", async () => {
    const keys = ["a{1,2}*.json", "a1.json", "sp ace.json", "per%41cent+.json", "q?x.json", "é-日.json", "quo'te.json"];
    for (const [id, key] of keys.entries()) await azure.put(`in/${key}`, JSON.stringify({ id, name: key }));
    await azure.put("in/deep/a.json", JSON.stringify({ id: 99, name: "deep" }));
    const arm = {
      azureContainerName: "cont",
      path: "in/*.json",
      connectionString: azure.connectionString,
      isContinuous: true,
    };
    const body = {
      ...pipeBody(store, "", "azure"),
      source: { objectStorage: { type: "azureblobstorage", authentication: "CONNECTION_STRING", ...arm } },
      settings: { object_storage_polling_interval_ms: 200 },
    } as PipeBody;
    const id = await create(body);
    await until("loaded", async () => (await count("azure")) === String(keys.length));
    expect((await query(service, "SELECT name FROM azure ORDER BY id FORMAT TSVRaw")).split("\n")).toEqual(keys);
    await azure.put("in/0-late.json", rows(100, 110));
    await until("late", async () => (await count("azure")) === String(keys.length + 10));
    const shown = JSON.stringify(await details(served, service, id));
    expect(shown).toContain("AccountName=devstoreaccount1");
    expect(shown).not.toContain(accountKey);
    const other = { ...body, destination: { ...body.destination, table: "azure_wrong" } };
    const wrong = {
      ...arm,
      connectionString: azure.connectionString.replace(accountKey, `AAAA${accountKey.slice(4)}`),
    };
    await expect(create({ ...other, source: { objectStorage: wrong } } as PipeBody)).rejects.toThrow(/is refused/);
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  });

  test.each(["Parquet", "ORC", "CSVWithNames"] as const)("%s, read in parts", async (format) => {
    const name = `blob.${format === "CSVWithNames" ? "csv.gz" : format.toLowerCase()}`;
    const select = "SELECT number AS id, concat('name ', toString(number)) AS name FROM numbers(300000)";
    const url = store.url(`azure/${name}`);
    const target = `s3('${url}', 'AKTEST', 'SK-of-pipe-tests\\'\\\\x', '${format}')`;
    await query(service, `INSERT INTO FUNCTION ${target} ${select}`);
    await azure.container.getBlockBlobClient(`${format}/${name}`).uploadData(await store.get(`azure/${name}`));
    const arm = { azureContainerName: "cont", path: `${format}/*`, connectionString: azure.connectionString };
    const table = `azure_${format}`;
    const body = { ...pipeBody(store, "", table), source: { objectStorage: arm, validateSamples: true } } as PipeBody;
    await untilState(served, service, await create(body), "Completed");
    expect(await query(service, `SELECT count(), sum(id), uniqExact(name) FROM ${table}`)).toBe(
      "300000\t44999850000\t300000",
    );
  });
});

describe("a source that goes away", () => {
  test("Degraded with the reason, then Failed after the documented time, and start tries again", async () => {
    await using impatient = await serve({ env: { MILLRACE_PIPE_SOURCE_OUTAGE_SECONDS: "2" } });
    const other = await runningService(impatient);
    const gone = await startFauxqs();
    await gone.put("in/1.json", rows(0, 10));
    const body = pipeBody(gone, "in/*.json", "t", {
      source: { isContinuous: true },
      body: { settings: { object_storage_polling_interval_ms: 200 } },
    });
    const id = await createPipe(impatient, other, body);
    await until("loaded", async () => (await details(impatient, other, id)).progress.sentRows === 10);
    await gone[Symbol.asyncDispose]();
    await until("degraded", async () => (await details(impatient, other, id)).state === "Degraded");
    expect((await details(impatient, other, id)).lastError).toContain("nothing listens at http://127.0.0.1");
    await untilState(impatient, other, id, "Failed");
    expect((await details(impatient, other, id)).lastError).toContain("gave up after 2 s");
    await impatient.api.updatePipeState({ params: { ...other.params, pipeId: id }, body: { command: "start" } });
    await until("tried again", async () => (await details(impatient, other, id)).state !== "Failed");
  });

  test("an object whose reads all failed in an outage is loaded when the store answers again", async () => {
    await using storeProxy = await startStoreProxy(store.endpoint);
    await store.put("midway/1.json", rows(0, 10));
    let looks = 0;
    storeProxy.refuses = ({ url = "" }) => {
      // After the last attempt the pipe looks whether the object is still there.
      const isLook = url.includes("prefix=midway%2F1.json");
      if (isLook) looks += 1;
      return looks <= 2 && (isLook || url.includes("/midway/1.json"));
    };
    const url = `${storeProxy.endpoint}/bucket/midway/*.json`;
    const id = await create(pipeBody(store, "", "midway", { source: { url } }));
    await untilState(served, service, id, "Completed");
    expect(looks).toBeGreaterThan(2);
    expect(await count("midway")).toBe("10");
  });

  test("an outage that ends is over, also when there is nothing new to load", async () => {
    await using storeProxy = await startStoreProxy(store.endpoint);
    await store.put("outage/1.json", rows(0, 10));
    const url = `${storeProxy.endpoint}/bucket/outage/*.json`;
    const settings = { object_storage_polling_interval_ms: 200 };
    const id = await create(pipeBody(store, "", "outage", { source: { url, isContinuous: true }, body: { settings } }));
    const state = async () => (await details(served, service, id)).state;
    await until("loaded", async () => (await count("outage")) === "10");
    storeProxy.down = true;
    await until("degraded", async () => (await state()) === "Degraded");
    storeProxy.down = false;
    await until("running again", async () => (await state()) === "Running");
    expect((await details(served, service, id)).lastError).toBeUndefined();
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  });
});
