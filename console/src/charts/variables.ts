/** Variables of a dashboard: a value of a field, chosen once, that filters all charts of its source. */
import type { ChartDefinition } from "./definition.ts";
import { withValues } from "./filter-text.ts";

export type DashboardVariable = {
  /** Different from that of the others: values are kept under it. */
  readonly name: string;
  readonly sourceId: string;
  /** A column, or an expression of the source. */
  readonly field: string;
};

/** Chosen values by the name of their variable; without a value a variable filters nothing. */
export type VariableValues = Readonly<Record<string, string>>;

const maxVariables = 12;

/** Why variables cannot be kept as they are. */
export function problemOf(variables: readonly DashboardVariable[]): string | undefined {
  if (variables.some(({ name }) => name.trim() === "")) return "Each variable needs a name.";
  const unbound = variables.find(({ field }) => field.trim() === "");
  if (unbound !== undefined) return `The variable ${unbound.name} needs a field. Choose one, or remove the variable.`;
  const second = variables.find(({ name }, at) => variables.findIndex((one) => one.name === name) !== at);
  return second && `Two variables have the name ${second.name}. Give each a name of its own.`;
}

/** Variables of anything that was kept or imported; those that cannot be read, or have a name twice, are left out. */
export function variablesOf(kept: unknown): readonly DashboardVariable[] {
  const found = new Map<string, DashboardVariable>();
  for (const raw of Array.isArray(kept) ? (kept as unknown[]) : []) {
    const { name, sourceId, field } = (typeof raw === "object" && raw !== null ? raw : {}) as Record<string, unknown>;
    if (typeof name !== "string" || typeof sourceId !== "string" || typeof field !== "string") continue;
    if (name.trim() !== "" && field.trim() !== "" && !found.has(name)) found.set(name, { name, sourceId, field });
  }
  return [...found.values()].slice(0, maxVariables);
}

/** What an address says of values. */
export function valuesOf(raw: unknown): VariableValues {
  const entries = Object.entries(typeof raw === "object" && raw !== null ? raw : {});
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]).filter(([, value]) => value !== ""));
}

/** The chart with the values of the variables of its source in the filter of every series. */
export function withVariables(
  chart: ChartDefinition,
  variables: readonly DashboardVariable[],
  values: VariableValues,
): ChartDefinition {
  const chosen = variables
    .filter(({ name, sourceId }) => sourceId === chart.sourceId && (values[name] ?? "") !== "")
    .map(({ name, field }) => [field, values[name] ?? ""] as const);
  if (chosen.length === 0) return chart;
  return { ...chart, series: chart.series.map((one) => ({ ...one, where: withValues(one, chosen) })) };
}
