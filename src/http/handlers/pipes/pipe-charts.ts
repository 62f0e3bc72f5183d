/** Sources of charts for tables that a new pipe creates, so that charts of them need no further configuration. */
import { placeOf, suggestionsFor, tablesOfSource } from "../../../charts/explore/suggestions.ts";
import { chartSourceRecordOf, sourceContent } from "../../../charts/sources.ts";
import { AppError, type Issue } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { connectorOf } from "../../../sources/connectors.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import type { NewPipe } from "../../../store/pipes/pipes.ts";
import type { ChartSourceStore } from "../../../store/saved/chart-sources.ts";

type Deps = {
  readonly chartSources: Pick<ChartSourceStore, "create" | "list">;
  readonly limits: Pick<OrganizationLimits, "chartSources">;
};

/** Leaves tables out that a source reads already. Returns what could not be registered. */
export async function registerChartSources(deps: Deps, organizationId: string, pipe: NewPipe): Promise<Issue[]> {
  const { sourceKind, source, destination, serviceId } = pipe;
  const layout = (await connectorOf(sourceKind)).createdTables?.(source[sourceKind] as JsonObject) ?? [];
  if (layout.length === 0) return [];
  const { database = "default" } = destination;
  const records = (await deps.chartSources.list(organizationId)).map(chartSourceRecordOf);
  const used = new Set(records.filter((record) => record.serviceId === serviceId).flatMap(tablesOfSource));
  const free = layout.filter(({ table }) => !used.has(placeOf(database, table)));
  try {
    for (const body of suggestionsFor(
      free.map((table) => ({ ...table, database })),
      serviceId,
    )) {
      await deps.chartSources.create(organizationId, sourceContent(body), deps.limits.chartSources);
    }
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "LIMIT_REACHED") throw error;
    return [{ path: "source", message: `not every table of the pipe has a chart source: ${error.message}` }];
  }
}
