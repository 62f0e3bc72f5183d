/** Sources between the store and the interface. */
import { type SourceBody, type SourceRecord, sourceBody } from "../api/chart-sources.ts";
import type { ChartSourceRow } from "../store/chart-sources.ts";

/** What the store keeps of a validated body. */
export function sourceContent(body: SourceBody): Pick<ChartSourceRow, "service_id" | "name" | "kind" | "definition"> {
  const serviceId = (body.serviceId ?? body.connection) as string;
  const { serviceId: _, connection: __, ...definition } = body;
  return { service_id: serviceId, name: body.name, kind: body.kind, definition: JSON.stringify(definition) };
}

export function sourceRecord(row: ChartSourceRow): SourceRecord {
  const definition = sourceBody.parse({ ...JSON.parse(row.definition), serviceId: row.service_id });
  return {
    id: row.id,
    ...definition,
    serviceId: row.service_id,
    connection: row.service_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
