/** Filters and order of the list of services, as they stand in its address. */
import { oneOf, textsOf } from "../../lib/search.ts";
import type { Service } from "./service.ts";

const sortKeys = ["name", "state", "rows", "disk", "backup"] as const;

/** What the address says, without what it cannot say. */
export function serviceListSearch(search: Record<string, unknown>) {
  return {
    ...textsOf(search, "q", "state"),
    ...oneOf(search, "sort", sortKeys),
    ...oneOf(search, "order", ["desc"]),
  };
}

type ServiceListSearch = ReturnType<typeof serviceListSearch>;
type Comparison = (a: Service, b: Service) => number;

const comparisons: Readonly<Record<(typeof sortKeys)[number], Comparison>> = {
  name: (a, b) => a.name.localeCompare(b.name),
  state: (a, b) => a.state.localeCompare(b.state),
  rows: (a, b) => (a.rows ?? -1) - (b.rows ?? -1),
  disk: (a, b) => (a.diskUsedBytes ?? -1) - (b.diskUsedBytes ?? -1),
  backup: (a, b) => (a.lastBackup?.startedAt ?? "").localeCompare(b.lastBackup?.startedAt ?? ""),
};

/** The services that the filters leave, in order. The text is a part of the name, of the id or of a tag. */
export function shownServices(services: readonly Service[], search: ServiceListSearch): Service[] {
  const text = search.q?.toLowerCase() ?? "";
  const matches = (service: Service) =>
    (search.state === undefined || service.state === search.state) &&
    (text === "" ||
      service.name.toLowerCase().includes(text) ||
      service.id.startsWith(text) ||
      service.tags.some(({ key, value }) => `${key}=${value ?? ""}`.toLowerCase().includes(text)));
  const sign = search.order === "desc" ? -1 : 1;
  const compare = comparisons[search.sort ?? "name"];
  return services.filter(matches).toSorted((a, b) => sign * compare(a, b) || a.name.localeCompare(b.name));
}
