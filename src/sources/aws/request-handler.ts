/** How long clients of AWS wait for an answer. By default it is for ever, and `requestTimeout` alone only warns. */
import type { Agents } from "../../outgoing/http.ts";

export const answerMs = 20_000;

export function answersInTime(agents: Agents) {
  return {
    connectionTimeout: 5_000,
    requestTimeout: answerMs,
    throwOnRequestTimeout: true,
    httpAgent: agents.http,
    httpsAgent: agents.https,
  };
}
