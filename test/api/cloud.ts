/** Requests of clients of the ClickHouse Cloud API; every response is checked against the published document. */
import { expect } from "vitest";
import { responseProblems } from "../../harness/cloud-responses.ts";
import type { Answer, Api } from "./harness.ts";

export type CloudCall = (
  method: string,
  path: string,
  body?: unknown,
  options?: { auth?: string | null; headers?: Record<string, string> },
) => Promise<Answer>;

/** `path` follows that of the organization. */
export function cloudCaller(api: Api): CloudCall {
  return async (method, path, body, options = {}) => {
    const whole = `/v1/organizations/${api.organizationId}${path}`;
    const answer = await api.call(method, `/cloud${whole}`, { ...options, ...(body === undefined ? {} : { body }) });
    const known = whole.split("?", 1)[0] as string;
    expect(responseProblems(method, known, answer.status, answer.body)).toEqual([]);
    return answer;
  };
}
