/** The Postgres connector: checks a configuration, opens a source, and takes away what the pipe made. */
import { AppError } from "../../lib/errors.ts";
import type { CheckOptions, Connector, SourceContext } from "../source.ts";
import { readTables } from "./catalog.ts";
import { connect, sourceError } from "./connection.ts";
import type { RelationalDbConfig } from "./kind.ts";
import { dropOwn, namesOf } from "./slot.ts";
import { RelationalSource } from "./source.ts";
import { planTable } from "./tables.ts";

export const connector: Connector<RelationalDbConfig> = {
  async check(config: RelationalDbConfig, options: CheckOptions): Promise<void> {
    const client = await connect(config);
    try {
      const wanted = config.tableMappings.map((mapping) => ({
        schema: mapping.sourceSchemaName,
        name: mapping.sourceTable,
      }));
      const tables = await readTables(client, wanted);
      for (const mapping of config.tableMappings) {
        const { sourceSchemaName: schema, sourceTable: name } = mapping;
        const table = tables.find((found) => found.schema === schema && found.name === name);
        if (table === undefined) {
          throw new AppError("SOURCE_INVALID", `The table ${schema}.${name} does not exist at the source.`);
        }
        planTable(table, mapping, options.destination.database, { nullable: false, hardDelete: false });
      }
    } catch (error) {
      throw sourceError(error);
    } finally {
      await client.end().catch(() => {});
    }
  },

  async open(config: RelationalDbConfig, context: SourceContext) {
    return await RelationalSource.open(config, context);
  },

  async cleanUp(config: RelationalDbConfig, pipeId: string, signal: AbortSignal): Promise<void> {
    await dropOwn(config, namesOf(config, pipeId), signal);
  },
};
