/** What a pipe that exists has made already, as far as checks of its change depend on it. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../lib/json.ts";
import type { CheckOptions } from "../../contract/source.ts";
import type { RelationalDbConfig } from "../declaration/kind.ts";
import type { TableMapping } from "../declaration/table-mapping.ts";
import { type ReplicationNames, replicationNamesOf } from "../server/slot.ts";
import { tableMark } from "../tables/table-states.ts";

export type KnownPipe = {
  readonly names: ReplicationNames;
  /** The pipe has begun with this table: what is at the destination under its name is the pipe's. */
  has(mapping: TableMapping): boolean;
  /** It was accepted before. A resync forgets what the pipe has begun with, and the table still is the pipe's. */
  hasStored(mapping: TableMapping): boolean;
  /** The same, and under this mapping: its destination table is as it says. */
  hasUnchanged(mapping: TableMapping): boolean;
  /** It had this table before, and left it at the destination. */
  had(mapping: TableMapping): boolean;
};

/** `marks` reads those of the pipe, whose source is `stored` until it is changed. */
export async function knownPipe(
  config: RelationalDbConfig,
  pipeId: string,
  { marks, stored }: Pick<CheckOptions, "marks" | "stored">,
): Promise<KnownPipe> {
  const kept = await marks(config.tableMappings.map(({ targetTable }) => tableMark(targetTable)));
  const markOf = ({ targetTable }: TableMapping) => kept[tableMark(targetTable)];
  const { tableMappings: before = [] } = (stored ?? {}) as Partial<RelationalDbConfig>;
  return {
    names: replicationNamesOf(config, pipeId),
    hasStored: ({ sourceSchemaName, sourceTable, targetTable }) =>
      before.some(
        (one) =>
          one.targetTable === targetTable &&
          one.sourceTable === sourceTable &&
          one.sourceSchemaName === sourceSchemaName,
      ),
    has: (mapping) => markOf(mapping) != null,
    hasUnchanged: (mapping) => isDeepStrictEqual((markOf(mapping) as JsonObject | null)?.mapping, mapping),
    had: (mapping) => markOf(mapping) === null,
  };
}
