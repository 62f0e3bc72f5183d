/** One line for a row: time, severity and service where the source names them, then its text. */

import { cellText, kindOf, timeOf } from "../../grid/values.ts";
import { timeText } from "../../lib/zone.ts";
import type { Source } from "./source.ts";

export type RowSummary = {
  readonly time: string;
  readonly severity: string | undefined;
  readonly service: string | undefined;
  readonly text: string;
};

type Column = { readonly name: string; readonly type: string };
type Named = Pick<
  Source,
  | "timestampValueExpression"
  | "severityTextExpression"
  | "serviceNameExpression"
  | "bodyExpression"
  | "implicitColumnExpression"
>;

const longest = 400;

export function rowSummary(
  source: Named,
  columns: readonly Column[],
  row: Readonly<Record<string, unknown>>,
): RowSummary {
  const named = (name: string | undefined) =>
    name !== undefined && columns.some((one) => one.name === name) ? name : undefined;
  const time =
    named(source.timestampValueExpression?.split(",")[0]?.trim()) ??
    columns.find(({ type }) => kindOf(type) === "time")?.name;
  const timeType = columns.find(({ name }) => name === time)?.type;
  const severity = named(source.severityTextExpression);
  const service = named(source.serviceNameExpression);
  const body = named(source.bodyExpression) ?? named(source.implicitColumnExpression);
  const used = new Set([time, severity, service]);
  const others = columns.filter(({ name }) => !used.has(name));
  const text =
    body === undefined ? others.map(({ name }) => `${name}=${cellText(row[name])}`).join("  ") : cellText(row[body]);
  return {
    time: time === undefined ? "" : timeCell(row[time], timeType ?? ""),
    severity: severity === undefined ? undefined : cellText(row[severity]),
    service: service === undefined ? undefined : cellText(row[service]),
    text: text.slice(0, longest),
  };
}

/** A time in the zone of the console, to the millisecond where the row has them. */
function timeCell(value: unknown, type: string): string {
  const text = cellText(value);
  const time = timeOf(value, type);
  if (Number.isNaN(time) || !text.includes(":")) return text;
  return `${timeText(time)}${/\.\d{1,3}/.exec(text)?.[0] ?? ""}`;
}
