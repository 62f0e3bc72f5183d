/** The words that an editor completes, from the engine's own tables. They depend on the version of the engine alone. */

import type { z } from "zod";
import type { completions } from "../../api/tables.ts";
import type { ClickHouseClient, QueryOptions } from "../../clickhouse/client.ts";

export type Completions = z.output<typeof completions>;

/** Characters of a description: its beginning says what the thing is. */
const maxDescription = 300;

const short = `substringUTF8(trim(BOTH '\\n ' FROM description), 1, ${maxDescription}) AS description`;

type Flagged<Row, Flags extends keyof Row> = Omit<Row, Flags> & { readonly [Name in Flags]: number };

/** Takes up to seconds for a new engine: it builds its documentation on first use. */
export async function readCompletions(
  client: ClickHouseClient,
  options: QueryOptions,
  version: string,
): Promise<Completions> {
  const names = async (sql: string) => (await client.rows<{ name: string }>(sql, options)).map(({ name }) => name);
  const functions = await client.rows<Flagged<Completions["functions"][number], "aggregate" | "caseInsensitive">>(
    `SELECT name, is_aggregate AS aggregate, case_insensitive AS caseInsensitive, trim(BOTH '\\n ' FROM syntax) AS syntax,
       ${short} FROM system.functions WHERE origin = 'System' ORDER BY name`,
    options,
  );
  const formats = await client.rows<Flagged<Completions["formats"][number], "input" | "output">>(
    "SELECT name, is_input AS input, is_output AS output FROM system.formats ORDER BY name",
    options,
  );
  return {
    version,
    keywords: await names("SELECT keyword AS name FROM system.keywords ORDER BY name"),
    functions: functions.map((row) => ({
      ...row,
      aggregate: row.aggregate === 1,
      caseInsensitive: row.caseInsensitive === 1,
    })),
    tableFunctions: await client.rows(`SELECT name, ${short} FROM system.table_functions ORDER BY name`, options),
    tableEngines: await names("SELECT name FROM system.table_engines ORDER BY name"),
    dataTypes: await names("SELECT name FROM system.data_type_families ORDER BY name"),
    formats: formats.map(({ name, input, output }) => ({ name, input: input === 1, output: output === 1 })),
    settings: await client.rows(
      `SELECT name, type, default, ${short} FROM system.settings WHERE NOT is_obsolete ORDER BY name`,
      options,
    ),
  };
}
