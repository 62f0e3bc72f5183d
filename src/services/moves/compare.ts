/** Compares the rows of a table on both sides: their number and a checksum of all values, by partition. */
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { identifier, tableName } from "../../clickhouse/sql.ts";
import type { MovedTable } from "../../store/services/service-move-contents.ts";

export type Compared = MovedTable & {
  readonly engine: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
};

type Sums = ReadonlyMap<string, string>;

/** Count and checksum of each partition that has rows. Throws ClickHouseError. */
export async function sumsOf(client: ClickHouseClient, table: Compared, signal: AbortSignal): Promise<Sums> {
  // Without aliases, which could be names of the table's columns.
  const text = await client.text(
    `SELECT _partition_id, count(), ${hashOf(table)}
     FROM ${tableName(table.database, table.name)}${combines(table.engine) ? " FINAL" : ""}
     GROUP BY _partition_id FORMAT TSV`,
    { signal, settings: { ...readSettings, log_queries: 0 } },
  );
  const rows = text.split("\n").filter((line) => line !== "");
  return new Map(rows.map((line) => [line.split("\t")[0] as string, line]));
}

/** The partitions whose rows differ. */
export function differences(source: Sums, target: Sums): string[] {
  const partitions = [...new Set([...source.keys(), ...target.keys()])];
  return partitions.filter((partition) => source.get(partition) !== target.get(partition));
}

/** Rows of one key become one, at another time on each side: what a query with FINAL shows is compared. */
function combines(engine: string): boolean {
  return engine !== "MergeTree";
}

/**
 * Sums of hashes do not depend on the order of rows. Where the engine adds values up, those of states and floats depend
 * on the order of additions, and are left out.
 */
function hashOf({ engine, columns }: Compared): string {
  const adds = /^(Summing|Aggregating)MergeTree$/.test(engine);
  const exact = columns.filter(({ type }) => !adds || !/AggregateFunction|Float/.test(type));
  if (exact.length === 0) return "0";
  const list = exact.map(({ name }) => identifier(name)).join(", ");
  return `sum(cityHash64(formatRowNoNewline('RowBinary', ${list})))`;
}

const readSettings = { do_not_merge_across_partitions_select_final: 1, max_execution_time: 0 };
