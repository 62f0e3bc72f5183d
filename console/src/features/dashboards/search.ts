/** What the address of a dashboard keeps: the range, and how often it is asked for again. */
export const refreshes = ["off", "10s", "1m"] as const;

export type DashboardSearch = {
  /** Absent: the range that the dashboard was saved with. */
  readonly from?: string;
  readonly to?: string;
  readonly refresh?: (typeof refreshes)[number];
};

export function dashboardSearch(search: Record<string, unknown>): DashboardSearch {
  const text = (name: string) =>
    search[name] === undefined || search[name] === "" ? {} : { [name]: String(search[name]) };
  const refresh = refreshes.find((one) => one === search.refresh);
  return { ...text("from"), ...text("to"), ...(refresh === undefined || refresh === "off" ? {} : { refresh }) };
}
