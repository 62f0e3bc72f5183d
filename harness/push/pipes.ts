/** Pipes that rows are sent to, and senders. */
import { bodyInto, createPipe, type More, untilState } from "../pipes.ts";
import type { BenchService, Served } from "../serve.ts";

export type PushAddress = {
  readonly pipeId: string;
  readonly url: string;
  /** The value of Authorization. */
  readonly key: string;
};

/** A pipe into a new orders table, and a key that may only push to it. */
export async function pushPipe(
  served: Served,
  service: BenchService,
  table: string,
  { source = {}, ...more }: More & { readonly key?: object } = {},
): Promise<PushAddress> {
  const settings = { streaming_max_insert_wait_ms: 500 };
  const pipeId = await createPipe(
    served,
    service,
    bodyInto(table, { push: source }, { ...more, body: { settings, ...more.body } }),
  );
  await untilState(served, service, pipeId, "Running");
  return await addressOf(served, pipeId, more.key);
}

export async function addressOf(served: Served, pipeId: string, more: object = {}): Promise<PushAddress> {
  const { organizationId } = served.credentials;
  const body = { name: `push to ${pipeId}`, roles: ["push"], pipeId, ...more };
  const { keyId, keySecret } = await served.api.createKey({ params: { organizationId }, body: body as never });
  return { pipeId, url: `${served.credentials.baseUrl}/v1/push/${pipeId}`, key: `Bearer ${keyId}.${keySecret}` };
}

export type Answered = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly code?: string;
    readonly error?: string;
    readonly result?: { readonly offset: number; readonly rows: number; readonly repeated?: true };
  };
};

export async function send(
  { url, key }: Pick<PushAddress, "url" | "key">,
  body: string | Uint8Array | ReadableStream,
  { headers = {}, query = "" }: { readonly headers?: Record<string, string>; readonly query?: string } = {},
): Promise<Answered> {
  const response = await fetch(url + query, {
    method: "POST",
    body,
    headers: { authorization: key, ...headers },
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
  } as RequestInit);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answered["body"] };
}
