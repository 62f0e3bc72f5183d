/** The table of pipes. */
import type { PipeSummary } from "../client/resolve.ts";
import type { TableColumn } from "../output/table.ts";
import { age, byteSize, count, span, stateStyle } from "../output/text.ts";
import { placeText, wordOf } from "./pipe-view.ts";

const arrows = { growing: "↑", steady: "=", shrinking: "↓" } as const;

/** The distance from the end of the source: seconds, else rows, files or bytes, with the trend. */
export function lagText({ lag }: PipeSummary): string | undefined {
  if (lag === undefined) return undefined;
  const { seconds, rows, files, bytes, trend, etaSeconds } = lag;
  const amounts = [
    seconds === undefined ? undefined : span(seconds),
    rows === undefined ? undefined : `${count(rows)} rows`,
    files === undefined ? undefined : `${count(files)} files`,
    bytes === undefined ? undefined : byteSize(bytes),
  ];
  const amount = amounts.find((text) => text !== undefined);
  if (amount === undefined) return undefined;
  const eta = etaSeconds === undefined || etaSeconds === 0 ? "" : `, ${span(etaSeconds)} left`;
  return `${amount}${trend === undefined ? "" : ` ${arrows[trend]}`}${eta}`;
}

/** An error of a pipe that is well is news for this time, or until somebody restarts it; `pipe events` keeps it. */
const newsMs = 600_000;

/** Why the pipe is in its state; else its last error, if that was lately. */
function message({ stateMessage, lastError, updatedAt }: PipeSummary) {
  if (stateMessage !== undefined || lastError === undefined) return stateMessage;
  const at = Date.parse(lastError.at);
  return Date.now() - at < newsMs && at >= Date.parse(updatedAt)
    ? `${lastError.message} (${age(lastError.at)} ago)`
    : undefined;
}

export const pipeColumns: readonly TableColumn<PipeSummary>[] = [
  { title: "NAME", value: ({ name }) => name },
  { title: "SERVICE", value: ({ serviceName }) => serviceName },
  { title: "SOURCE", value: ({ kind }) => wordOf(kind) },
  { title: "TABLE", value: ({ destination }) => placeText(destination) },
  { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
  { title: "SINCE", value: ({ stateChangedAt }) => age(stateChangedAt), right: true },
  { title: "ROWS/S", value: ({ rates }) => count(rates?.rowsPerSecond), right: true },
  { title: "BYTES/S", value: ({ rates }) => byteSize(rates?.bytesPerSecond), right: true, wide: true },
  { title: "LAG", value: lagText },
  { title: "ERRORS", value: ({ errors }) => count(errors), right: true },
  { title: "ROWS", value: ({ rows }) => count(rows), right: true },
  { title: "LAST SUCCESS", value: ({ lastSuccessAt }) => age(lastSuccessAt), right: true, wide: true },
  { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true, wide: true },
  { title: "ID", value: ({ id }) => id, wide: true },
  { title: "MESSAGE", value: message },
];
