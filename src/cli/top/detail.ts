/** One pipe in `millrace top`. */
import type { PipeSummary } from "../client/resolve.ts";
import { lagText } from "../commands/pipe-columns.ts";
import { placeText, wordOf } from "../commands/pipe-view.ts";
import { fieldLines } from "../output/table.ts";
import { age, byteSize, count, cutTo, decimal, span, stateStyle } from "../output/text.ts";
import { processesOf, type TopLook, type TopView, type WorkerProcess } from "./view.ts";

/** Everything that is known of the pipe, a line for each fact. What is not known has none. */
export function detailLines(view: TopView, pipe: PipeSummary, { color, width }: Pick<TopLook, "color" | "width">) {
  const { rates, lag, lastError, destination } = pipe;
  const lines = fieldLines(
    [
      ["pipe", `${pipe.serviceName}/${pipe.name}`, "bold"],
      ["id", pipe.id],
      ["state", `${pipe.state}, since ${age(pipe.stateChangedAt)}`, stateStyle(pipe.state)],
      ["reason", pipe.stateMessage],
      ["source", wordOf(pipe.kind)],
      ["table", placeText(destination)],
      ["last success", pipe.lastSuccessAt && `${age(pipe.lastSuccessAt)} ago`],
      ["last error", lastError && `${lastError.message} (${age(lastError.at)} ago)`],
      ["speed", rates && `${count(rates.rowsPerSecond)} rows/s, ${byteSize(rates.bytesPerSecond)}/s`],
      ["lag", lagText(pipe)],
      ["lag in time", lag?.seconds === undefined ? undefined : span(lag.seconds)],
      ["lag in rows", lag?.rows === undefined ? undefined : count(lag.rows)],
      ["lag in files", lag?.files === undefined ? undefined : count(lag.files)],
      ["lag in bytes", lag?.bytes === undefined ? undefined : byteSize(lag.bytes)],
      ["latency", pipe.latencySeconds === undefined ? undefined : decimal(pipe.latencySeconds, "s")],
      ["loaded", pipe.rows === undefined ? undefined : `${count(pipe.rows)} rows, ${byteSize(pipe.bytes)}`],
      ["refused", pipe.errors === undefined ? undefined : count(pipe.errors)],
      ["processes", pipe.workers],
      ...processesOf(view, pipe).map((one) => ["process", processText(one)] as const),
    ],
    color,
  );
  return width === undefined || color ? lines : lines.map((line) => cutTo(line, width));
}

function processText({ name, pid, pipes, utilization, memoryBytes }: WorkerProcess): string {
  const others = new Set(pipes).size - 1;
  const shared = others === 0 ? "" : `, shared with ${count(others)} more`;
  return `${name}, pid ${pid}: ${decimal(utilization)} CPU, ${byteSize(memoryBytes)}${shared}`;
}
