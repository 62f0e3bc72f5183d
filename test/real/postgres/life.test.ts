/**
 * The life of Postgres pipes: stop and start, added and removed tables, engines, modes, and what is left at the end.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { details, untilState } from "../../../harness/pipes.ts";
import { cdcPipe, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.warn(`Life of Postgres pipes: skipped, ${missing}`);

describe.skipIf(missing !== undefined)("the life of Postgres pipes", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    [served, source] = await Promise.all([serve(), TestPostgres.start()]);
    service = await runningService(served);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const plain = { source: "id::text, name", destination: "toString(id), name" };
  const make = async (table: string, rows: number) => {
    await source.sql(`CREATE TABLE ${table} (id int PRIMARY KEY, name text NOT NULL);
      INSERT INTO ${table} SELECT i, 'name ' || i FROM generate_series(1, ${rows}) i`);
  };
  const command = async (pipeId: string, name: "start" | "stop" | "resync") =>
    await served.api.updatePipeState({ params: { ...service.params, pipeId }, body: { command: name } });
  const slots = async () => (await source.sql("SELECT slot_name FROM pg_replication_slots")).length;

  test("a stopped pipe goes on where it was; an idle slot advances; a deleted pipe leaves nothing behind", async () => {
    await make("steps", 100);
    await source.sql("CREATE TABLE elsewhere (t text)");
    const pipeId = await cdcPipe(served, service, source, ["steps"]);
    await untilEqual(source, service, "steps", plain);
    await untilState(served, service, pipeId, "Running");
    const position = async () =>
      (
        await source.sql(
          "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::int AS behind FROM pg_replication_slots",
        )
      )[0]?.behind as number;
    await source.sql("INSERT INTO elsewhere SELECT repeat('x', 100) FROM generate_series(1, 10000)");
    await until("the slot advances although nothing of it changes", async () => (await position()) < 10_000);
    await command(pipeId, "stop");
    await untilState(served, service, pipeId, "Stopped");
    await source.sql("UPDATE steps SET name = 'while stopped' WHERE id < 50; DELETE FROM steps WHERE id = 1");
    await command(pipeId, "start");
    await untilEqual(source, service, "steps", plain);
    await until("gauges are there", async () => {
      const { progress } = await details(served, service, pipeId);
      return (
        (progress as Record<string, number>).lagBytes !== undefined &&
        (progress as Record<string, number>)["updatedRows:steps"] === 49
      );
    });
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
    await until("slot and publication are gone", async () => (await slots()) === 0);
    expect(await source.sql("SELECT * FROM pg_publication")).toEqual([]);
    expect(await query(service, "SELECT count() FROM steps_current")).toBe("99");
  });

  test("interval, batch size and parallelism change in place, without loss, while rows are written", async () => {
    await make("tuned", 100);
    const pipeId = await cdcPipe(served, service, source, ["tuned"], { settings: { syncIntervalSeconds: 3600 } });
    await untilState(served, service, pipeId, "Running");
    await source.sql("INSERT INTO tuned SELECT i, 'name ' || i FROM generate_series(101, 200) i");
    const patch = (settings: object) =>
      served.api.updatePipe({
        params: { ...service.params, pipeId },
        body: { source: { relationalDb: { settings } } } as never,
      });
    const { state } = await patch({ syncIntervalSeconds: 1, pullBatchSize: 10, initialLoadParallelism: 2 });
    expect(state).toBe("Modifying");
    await source.sql("INSERT INTO tuned SELECT i, 'name ' || i FROM generate_series(201, 300) i");
    await untilEqual(source, service, "tuned", plain);
    await expect(patch({ replicationMode: "snapshot" })).rejects.toThrow("settings.replicationMode: cannot be changed");
    expect((await details(served, service, pipeId)).source.relationalDb).toMatchObject({
      settings: { replicationMode: "cdc", syncIntervalSeconds: 1, pullBatchSize: 10, initialLoadParallelism: 2 },
    });
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
  });

  test("tables are added to and taken out of a running pipe, and come back; stopped ones are copied at the start", async () => {
    for (const [table, rows] of [
      ["first", 100],
      ["second", 2000],
      ["third", 10],
    ] as const)
      await make(table, rows);
    const pipeId = await cdcPipe(served, service, source, ["first"]);
    await untilEqual(source, service, "first", plain);
    const mapping = (table: string) => ({ sourceSchemaName: "public", sourceTable: table, targetTable: table });
    const patch = async (relationalDb: object) =>
      await served.api.updatePipe({ params: { ...service.params, pipeId }, body: { source: { relationalDb } } });
    // Both are read and checked at the same time, and none takes the other's place.
    await Promise.all(["second", "third"].map((table) => patch({ tableMappingsToAdd: [mapping(table)] })));
    for (const table of ["second", "third"]) await untilEqual(source, service, table, plain);
    await source.sql("UPDATE second SET name = 'new' WHERE id < 100; UPDATE first SET name = 'new' WHERE id < 10");
    for (const table of ["second", "first"]) await untilEqual(source, service, table, plain);
    const { sourceSchemaName, sourceTable } = mapping("second");
    await patch({ tableMappingsToRemove: [{ sourceSchemaName, sourceTable }] });
    await until(
      "second is not published",
      async () => (await source.sql("SELECT 1 FROM pg_publication_tables WHERE tablename = 'second'")).length === 0,
    );
    const left = await query(service, "SELECT count(), max(_version) FROM second");
    await source.sql("DELETE FROM second WHERE id > 1000; UPDATE first SET name = 'newer' WHERE id < 5");
    await untilEqual(source, service, "first", plain);
    expect(await query(service, "SELECT count(), max(_version) FROM second")).toBe(left);
    await command(pipeId, "stop");
    await untilState(served, service, pipeId, "Stopped");
    await patch({ tableMappingsToAdd: [mapping("second")], tableMappingsToRemove: [mapping("third")] });
    await command(pipeId, "start");
    await untilEqual(source, service, "second", plain);
    const { tables } = await details(served, service, pipeId);
    expect(tables?.map((table) => table.sourceTable)).toEqual(["public.first", "public.second"]);
    await query(service, "CREATE TABLE taken ENGINE = MergeTree ORDER BY a AS SELECT 1 AS a");
    await expect(patch({ tableMappingsToAdd: [{ ...mapping("third"), targetTable: "taken" }] })).rejects.toThrow(
      "default.taken exists and is not empty",
    );
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
    await until("the slot is gone", async () => (await slots()) === 0);
  });

  test("rows that changed and went away before a copy are not an obstacle to the stream, which begins earlier", async () => {
    await source.sql(`CREATE TABLE known (id int PRIMARY KEY, n int, big text);
      CREATE TABLE newer (id int PRIMARY KEY, n int, big text);
      ALTER TABLE newer ALTER big SET STORAGE EXTERNAL;
      INSERT INTO newer SELECT i, 0, repeat('large ', 2000) FROM generate_series(1, 6) i;
      CREATE PUBLICATION everything FOR ALL TABLES`);
    const mapping = (table: string) => ({ sourceSchemaName: "public", sourceTable: table, targetTable: table });
    const settings = { publicationName: "everything" };
    const pipeId = await cdcPipe(served, service, source, ["known"], { settings });
    const columns = {
      source: "id::text, n::text, md5(big)",
      destination: "toString(id), toString(n), lower(hex(MD5(big)))",
    };
    await untilEqual(source, service, "known", columns);
    await untilState(served, service, pipeId, "Running");
    await command(pipeId, "stop");
    await untilState(served, service, pipeId, "Stopped");
    // Without the large value each: of rows that are deleted, moved, recreated and kept.
    await source.sql("UPDATE newer SET n = 1");
    await source.sql("UPDATE newer SET n = 2 WHERE id < 3");
    await source.sql("DELETE FROM newer WHERE id = 1");
    await source.sql("UPDATE newer SET id = 30 WHERE id = 3");
    await source.sql("UPDATE newer SET n = 3 WHERE id = 30");
    await source.sql("DELETE FROM newer WHERE id = 4; INSERT INTO newer VALUES (4, 4, 'small')");
    await source.sql("UPDATE newer SET id = 50 WHERE id = 5");
    await source.sql("DELETE FROM newer WHERE id = 50");
    await served.api.updatePipe({
      params: { ...service.params, pipeId },
      body: { source: { relationalDb: { tableMappings: [mapping("known"), mapping("newer")] } } },
    });
    await command(pipeId, "start");
    await untilEqual(source, service, "newer", columns);
    await source.sql("UPDATE newer SET n = 9 WHERE id IN (2, 4, 30)");
    await untilEqual(source, service, "newer", columns);
    await untilState(served, service, pipeId, "Running");
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
    await until("the slot is gone", async () => (await slots()) === 0);
    await source.sql("DROP PUBLICATION everything");
  });

  test("MergeTree keeps every change, Null passes them on to views", async () => {
    await make("logged", 10);
    await make("passed", 10);
    await query(
      service,
      "CREATE TABLE sink (id Int32, deleted UInt8) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000",
    );
    const mappings = [
      { sourceSchemaName: "public", sourceTable: "logged", targetTable: "logged", tableEngine: "MergeTree" },
      { sourceSchemaName: "public", sourceTable: "passed", targetTable: "passed", tableEngine: "Null" },
    ];
    const pipeId = await cdcPipe(served, service, source, [], { mappings });
    await untilState(served, service, pipeId, "Running");
    await query(service, "CREATE MATERIALIZED VIEW watching TO sink AS SELECT id, _deleted AS deleted FROM passed");
    await source.sql(
      "UPDATE logged SET name = 'x' WHERE id = 1; DELETE FROM logged WHERE id = 2; INSERT INTO passed VALUES (11, 'n'); DELETE FROM passed WHERE id = 3",
    );
    await until(
      "the log has every change",
      async () => (await query(service, "SELECT count(), sum(_deleted) FROM logged")) === "12\t1",
    );
    await until(
      "the view has what was passed on",
      async () => (await query(service, "SELECT id, deleted FROM sink ORDER BY id FORMAT TSV")) === "3\t1\n11\t0",
    );
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
    await until("the slot is gone", async () => (await slots()) === 0);
  });

  test("a pipe that copies only is completed and makes no slot; one that follows only begins with an empty table", async () => {
    await make("once", 500);
    await make("onwards", 500);
    const pipeId = await cdcPipe(served, service, source, ["once"], { settings: { replicationMode: "snapshot" } });
    await untilState(served, service, pipeId, "Completed");
    await untilEqual(source, service, "once", plain);
    expect(await slots()).toBe(0);
    await source.sql("CREATE PUBLICATION given FOR TABLE onwards");
    await source.sql("SELECT pg_create_logical_replication_slot('given', 'pgoutput')");
    await source.sql("INSERT INTO onwards VALUES (501, 'new')");
    const follower = await cdcPipe(served, service, source, ["onwards"], {
      settings: { replicationMode: "cdc_only", publicationName: "given", replicationSlotName: "given" },
    });
    await until(
      "the new row is there",
      async () => (await query(service, "SELECT id FROM onwards_current").catch(() => "")) === "501",
    );
    await served.api.deletePipe({ params: { ...service.params, pipeId: follower } });
    await until("the pipe is gone", async () =>
      (await served.api.listPipes({ params: service.params })).every(({ id }) => id !== follower),
    );
    expect(await slots()).toBe(1);
    await until(
      "the slot is free",
      async () => (await source.sql("SELECT active FROM pg_replication_slots"))[0]?.active === false,
    );
    await source.sql("SELECT pg_drop_replication_slot('given')");
  });

  test("a partitioned table equals its source: rows change, move and go within partitions, and a resync keeps them", async () => {
    await make("parted", 1500);
    const mapping = { sourceSchemaName: "public", sourceTable: "parted", targetTable: "parted" };
    const mappings = [{ ...mapping, partitionByExpr: "intDiv(id, 10)" }];
    const pipeId = await cdcPipe(served, service, source, [], { mappings, settings: { deleteOnMerge: true } });
    await untilEqual(source, service, "parted", plain);
    await source.sql(`UPDATE parted SET name = 'new' WHERE id % 7 = 0; DELETE FROM parted WHERE id % 5 = 0;
      UPDATE parted SET id = id + 5000 WHERE id % 11 = 0; INSERT INTO parted VALUES (5, 'again')`);
    await untilEqual(source, service, "parted", plain);
    // Also for readers that look at each partition alone: no version of a row is in another one.
    const kept = async () => (await source.sql("SELECT count(*)::int AS n FROM parted"))[0]?.n;
    const alone = "SETTINGS do_not_merge_across_partitions_select_final = 1";
    const count = () => query(service, `SELECT count(), uniqExact(id) FROM parted FINAL WHERE _deleted = 0 ${alone}`);
    expect(await count()).toBe(`${await kept()}\t${await kept()}`);
    const made = () =>
      query(service, "SELECT comment, partition_key FROM system.tables WHERE name = 'parted' FORMAT TSV");
    const [comment, partition] = (await made()).split("\t");
    expect(partition).toContain("intDiv(id, 10)");
    await command(pipeId, "resync");
    await until("the copy has taken its place", async () => !(await made()).startsWith(comment ?? ""));
    expect((await made()).split("\t")[1]).toBe(partition);
    await untilEqual(source, service, "parted", plain);
    expect(await count()).toBe(`${await kept()}\t${await kept()}`);
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
    await until("the slot is gone", async () => (await slots()) === 0);
  });

  test("a pipe is changed while a resync copies its tables anew, and another table that has rows is refused", async () => {
    await make("again", 3000);
    const pipeId = await cdcPipe(served, service, source, ["again"]);
    await untilEqual(source, service, "again", plain);
    await untilState(served, service, pipeId, "Running");
    const params = { ...service.params, pipeId };
    await make("beside", 1);
    const beside = { sourceSchemaName: "public", sourceTable: "beside", targetTable: "beside" };
    const patched = async (relationalDb: object) =>
      await served.api.updatePipe({ params, body: { source: { relationalDb } } as never });
    const made = () => query(service, "SELECT comment FROM system.tables WHERE name = 'again'");
    const before = await made();
    await command(pipeId, "resync");
    // From before the supervisor has seen the command on.
    const { targetTable: _, ...named } = beside;
    for (let round = 0; round < 3; round += 1) {
      await patched({ tableMappingsToAdd: [beside] });
      await patched({ tableMappingsToRemove: [named] });
    }
    await until("the copy has taken its place", async () => (await made()) !== before);
    await make("held", 1);
    await query(service, "CREATE TABLE held (id Int32) ORDER BY id AS SELECT 1");
    await command(pipeId, "resync");
    const added = [{ sourceSchemaName: "public", sourceTable: "held", targetTable: "held" }];
    await expect(patched({ tableMappingsToAdd: added })).rejects.toThrow("default.held exists and is not empty");
    await untilState(served, service, pipeId, "Running");
    await untilEqual(source, service, "again", plain);
    await served.api.deletePipe({ params });
    await until("the slot is gone", async () => (await slots()) === 0);
  });

  test("the copy of a resync goes on after a change of the pipe, a stop and a start, and readers see the old rows until its end", async () => {
    await make("long", 100_000);
    const settings = { initialLoadParallelism: 1, snapshotNumRowsPerPartition: 1000 };
    const pipeId = await cdcPipe(served, service, source, ["long"], { settings });
    const params = { ...service.params, pipeId };
    await untilState(served, service, pipeId, "Running");
    await source.sql("DELETE FROM long WHERE id % 1000 = 0; UPDATE long SET name = repeat(name, 30)");
    await untilEqual(source, service, "long", plain);
    const count = async (table: string) =>
      Number(await query(service, `SELECT count() FROM ${table}`).catch(() => Number.NaN));
    let copied = 0;
    let fewer = 0;
    const untilCopied = async (rows: number) =>
      await until("more of it is copied, or all", async () => {
        const [now, seen] = await Promise.all([count("long_resync"), count("long_current")]);
        if (now < copied) fewer = now;
        if (!Number.isNaN(now)) copied = now;
        expect(seen).toBe(99_900);
        return now >= rows || (Number.isNaN(now) && (await details(served, service, pipeId)).state === "Running");
      });
    await command(pipeId, "resync");
    await untilCopied(1);
    await served.api.updatePipe({
      params,
      body: { source: { relationalDb: { settings: { pullBatchSize: 1000 } } } } as never,
    });
    await untilCopied(copied + 1);
    await command(pipeId, "stop");
    await untilState(served, service, pipeId, "Stopped");
    await source.sql("UPDATE long SET name = 'while it was stopped' WHERE id % 777 = 1");
    await command(pipeId, "start");
    await untilCopied(99_900);
    await untilState(served, service, pipeId, "Running");
    await untilEqual(source, service, "long", plain);
    expect(fewer).toBe(0);
    await served.api.deletePipe({ params });
    await until("the slot is gone", async () => (await slots()) === 0);
  });

  test("with deleteOnMerge deleted rows go away by themselves", async () => {
    await make("hard", 10);
    const pipeId = await cdcPipe(served, service, source, ["hard"], { settings: { deleteOnMerge: true } });
    await untilEqual(source, service, "hard", plain);
    await source.sql("DELETE FROM hard WHERE id < 4");
    await untilEqual(source, service, "hard", plain);
    expect(await query(service, "SELECT count() FROM hard FINAL")).toBe("7");
    await query(service, "OPTIMIZE TABLE hard FINAL CLEANUP");
    expect(await query(service, "SELECT count() FROM hard")).toBe("7");
    await served.api.deletePipe({ params: { ...service.params, pipeId } });
    await until("the slot is gone", async () => (await slots()) === 0);
  });

  test("a slot that was dropped makes the pipe say so, and resync copies anew without an empty table", async () => {
    await make("kept", 3000);
    const pipeId = await cdcPipe(served, service, source, ["kept"]);
    await untilEqual(source, service, "kept", plain);
    await command(pipeId, "stop");
    await untilState(served, service, pipeId, "Stopped");
    await source.sql(
      "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots; DELETE FROM kept WHERE id > 2000",
    );
    await command(pipeId, "start");
    const needed = await until("it says why it needs a resync", async () => {
      const { lastError, needsResync } = await details(served, service, pipeId);
      return lastError && needsResync;
    });
    expect(needed).toEqual({});
    const counts = new Set<string>();
    const added = new Set<string>();
    let isOver = false;
    const reader = async () => {
      while (!isOver) {
        counts.add(await query(service, "SELECT count() FROM kept_current"));
        added.add(await query(service, "SELECT count() FROM system.columns WHERE table = 'kept_current'"));
      }
    };
    const readers = [reader(), reader(), reader()];
    try {
      await command(pipeId, "resync");
      await until("the copy is there", async () => counts.has("2000"));
      await untilEqual(source, service, "kept", plain);
      await source.sql("ALTER TABLE kept ADD COLUMN more int DEFAULT 1");
      await source.sql("UPDATE kept SET more = 2 WHERE id = 1");
      await until("the view has the new column", async () => added.has("3"));
    } finally {
      isOver = true;
    }
    // At no moment was the table empty, or table or view missing.
    await Promise.all(readers);
    expect([...counts].toSorted()).toEqual(["2000", "3000"]);
    expect([...added].toSorted()).toEqual(["2", "3"]);
    await untilEqual(source, service, "kept", plain);
    expect(await query(service, "SHOW TABLES LIKE 'kept\\_%'")).toBe("kept_current\nkept_pipes_error");
  });
});
