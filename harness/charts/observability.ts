/** Requests to the observability API of a started server. */
import type { Served } from "../serve.ts";

export type ObservabilityReply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined for a body that is not one JSON document. */
  readonly json: ReturnType<typeof JSON.parse>;
};

/** Sends a request with the server's access token. */
export async function observabilityCall(
  { credentials }: Served,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<ObservabilityReply> {
  const response = await fetch(credentials.observabilityBaseUrl + path, {
    method,
    headers: {
      Authorization: `Bearer ${credentials.accessToken}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  const json = /json/.test(type) && !/ndjson/.test(type) ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}
