/** What the API shows of the server's backup location and the ports of services. */
import type { z } from "zod";
import type { systemRecord } from "../../api/system.ts";
import type { LocationState } from "../../backups/location-check.ts";
import { parsePorts } from "../../lib/port-range.ts";
import type { BackupLocation } from "../../store/backups/backups.ts";

type SystemView = z.input<typeof systemRecord>;

export function backupLocationView(location: BackupLocation, state: LocationState | undefined) {
  const place = location.kind === "local" ? location.root : `s3://${location.bucket}/${location.prefix}`;
  if (state === undefined) return { place };
  const { checkedAt, problem } = state;
  return { place, writable: problem === undefined, checkedAt, ...(problem === undefined ? {} : { problem }) };
}

type EndpointRow = { readonly id: string; readonly organizationId: string; readonly port: number };

/** Counts the services of all organizations, and names only those of one. */
export function servicePortsView(
  range: string,
  services: readonly EndpointRow[],
  problems: ReadonlyMap<string, string>,
  organizationId: string,
): SystemView["servicePorts"] {
  const { first, last } = parsePorts(range) ?? { first: 0, last: 0 };
  const named = services.filter((service) => service.organizationId === organizationId && problems.has(service.id));
  return {
    first,
    last,
    used: services.filter(({ port }) => port >= first && port <= last).length,
    problems: named.map(({ id, port }) => ({ serviceId: id, port, problem: problems.get(id) ?? "" })),
  };
}
