/** The clock of the server against the one of this machine. */
import { span } from "../output/text.ts";
import { type Check, judged } from "./check.ts";

/** Signatures of requests to buckets and streams are refused from 5 to 15 minutes on. */
const failSeconds = 300;
const warnSeconds = 5;

/**
 * `date`: the header of an answer, in whole seconds. The server wrote it between the two times of this machine, in ms.
 */
export function clockCheck(date: string | undefined, sentAtMs: number, receivedAtMs: number): Check {
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) {
    return judged(
      "clock",
      "warn",
      "the answer has no time",
      "A proxy between here and the server removes Date headers.",
    );
  }
  const ahead = serverMs - receivedAtMs;
  const behind = sentAtMs - (serverMs + 999);
  const seconds = Math.max(ahead, behind, 0) / 1000;
  const result = seconds > failSeconds ? "fail" : seconds > warnSeconds ? "warn" : "ok";
  const detail =
    result === "ok"
      ? "the server's clock and the one here agree"
      : `the server's clock is ${span(seconds)} ${ahead > behind ? "ahead of" : "behind"} the one here`;
  return judged("clock", result, detail, "Synchronize the clocks of both machines (NTP).");
}
