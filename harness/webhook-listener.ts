/** A server that keeps what webhooks tell it. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export type ReceivedRequest = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string };

export type WebhookListener = AsyncDisposable & {
  /** Where webhooks are to send. */
  readonly url: string;
  /** In the order of arrival; may be emptied. */
  readonly received: ReceivedRequest[];
  /** The status of the next answers; one of 302 leads elsewhere. */
  status: number;
};

/** Listens on a free port of 127.0.0.1, and answers 200. */
export async function startWebhookListener(): Promise<WebhookListener> {
  const received: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += String(chunk);
    });
    request.on("end", () => {
      received.push({ url: request.url ?? "", headers: request.headers, body });
      const { status } = listener;
      response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end("{}");
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const listener: WebhookListener = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    status: 200,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
  return listener;
}
