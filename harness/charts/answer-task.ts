/** A chart's data as the engine sends it, and what answers it. */
import { seriesRequest } from "../../src/api/charts.ts";
import type { AnswerTask } from "../../src/charts/answer/answer-work.ts";

const minute = 60_000;
/** The time of the first bucket, in ms. */
export const answerStart = 1_714_557_600_000;

/** A count by one group, of so many groups in each of so many minutes. */
export function answerTask(groups: number, minutes: number, over: object = {}): AnswerTask {
  const series = [{ sourceId: "x", aggFn: "count", groupBy: ["s"] }];
  const range = { startTime: answerStart, endTime: answerStart + minutes * minute - 1, granularity: "1m" };
  const request = seriesRequest.parse({ series, ...range, ...over });
  const first = answerStart / minute;
  const data: [number, string, string][] = [];
  for (let bucket = 0; bucket < minutes; bucket += 1) {
    for (let group = 0; group < groups; group += 1) data.push([first + bucket, `grüppe ${group}`, String(group)]);
  }
  const item = request.series[0] as (typeof request.series)[0];
  const bytes = Buffer.from(JSON.stringify({ data }));
  const half = Math.floor(bytes.length / 2);
  return {
    request,
    format: "json",
    plans: [
      {
        series: [{ index: 0, item }],
        decoding: { kind: "rows", wrapped: undefined, numbers: [false], values: ["number"], dropEmpty: false },
        // Cut within a character, and of memory that is shared with others.
        bytes: [bytes.subarray(0, half), bytes.subarray(half)],
      },
    ],
  };
}
