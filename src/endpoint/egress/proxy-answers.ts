/** Responses of the proxy itself, as opposed to forwarded ones. */
import { addressRefusalOf } from "../../outgoing/dialer.ts";

export type ProxyAnswer = { readonly status: number; readonly code: string; readonly message: string };

export const badProxyRequest: ProxyAnswer = {
  status: 400,
  code: "BadProxyRequest",
  message: "the proxy takes absolute http URLs and CONNECT with host and port",
};

/**
 * 403 for a refused address, before any connection. 502 with the system's code when an allowed address is unreachable.
 */
export function answerFor(error: unknown): ProxyAnswer {
  const refused = addressRefusalOf(error);
  if (refused !== undefined) {
    return { status: 403, code: "AddressRefused", message: refused.issues?.[0]?.message ?? "the address is refused" };
  }
  const { code } = error as { code?: unknown };
  return { status: 502, code: "Unreachable", message: `no answer (${typeof code === "string" ? code : "failed"})` };
}

/** The message as a reason phrase (RFC 9112, 4), because that is what ClickHouse shows of a response to CONNECT. */
export function reasonOf({ message }: ProxyAnswer): string {
  return message.replaceAll(/[^\x20-\x7e]/g, "?");
}

/** The body in the format of object stores, whose clients show code and message. */
export function bodyOf({ code, message }: ProxyAnswer): string {
  const text = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${text}</Message></Error>`;
}
