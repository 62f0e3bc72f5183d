/** Names the stage at which an outgoing connection failed: DNS, TCP or TLS. */

export type ErrorLink = {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly hostname?: unknown;
} & object;

const maxDepth = 8;

/** The error with its causes and aggregated errors, outermost first. */
export function errorChain(error: unknown): ErrorLink[] {
  const links: ErrorLink[] = [];
  const visit = (value: unknown, depth: number) => {
    if (typeof value !== "object" || value === null || depth > maxDepth) return;
    links.push(value as ErrorLink);
    const { cause, errors } = value as { cause?: unknown; errors?: unknown };
    visit(cause, depth + 1);
    if (Array.isArray(errors)) for (const part of errors) visit(part, depth + 1);
  };
  visit(error, 0);
  return links;
}

/** What failed: the name, the port, the certificate, TLS, an answer in time, or the connection once it stood. */
export type ConnectionStage = "name" | "port" | "tls" | "certificate" | "answer" | "closed";

export type ConnectionTrouble = {
  readonly stage: ConnectionStage;
  /** One clause without a final period that says what failed and what to check. */
  readonly message: string;
};

/** What `connectionTrouble` says. */
export function connectionFailure(error: unknown, address: string): string | undefined {
  return connectionTrouble(error, address)?.message;
}

/**
 * What failed at `address` (`host:port` or a URL) and what to check; undefined when the connection itself was not the
 * trouble.
 */
export function connectionTrouble(error: unknown, address: string): ConnectionTrouble | undefined {
  const links = errorChain(error);
  const codeOf = (pattern: RegExp) => links.find((link) => typeof link.code === "string" && pattern.test(link.code));
  const says = (pattern: RegExp) => links.some((link) => pattern.test(String(link.message ?? "")));
  const unresolved = codeOf(/^(ENOTFOUND|EAI_)/);
  if (unresolved !== undefined) {
    const name = typeof unresolved.hostname === "string" ? unresolved.hostname : address;
    return { stage: "name", message: `DNS does not know ${name}; check its spelling and this machine's resolver` };
  }
  if (codeOf(/^ECONNREFUSED$/)) {
    return { stage: "port", message: `nothing listens at ${address}; check host and port` };
  }
  if (codeOf(/^(EPROTO|ERR_SSL_)/) && says(/wrong version number|packet length too long|unknown protocol/i)) {
    const remedy = `check the port${address.startsWith("https:") ? ", or use http:" : ""}`;
    return { stage: "tls", message: `${address} does not speak TLS; ${remedy}` };
  }
  const certificate = codeOf(/^(CERT_|ERR_TLS_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|EPROTO|ERR_SSL_)/);
  if (certificate !== undefined) {
    return { stage: "certificate", message: `TLS to ${address} fails (${certificate.code})` };
  }
  if (says(/request( socket)? timed out|exceeded the configured \d+ ms requestTimeout|silent for|no answer within/i)) {
    const message = `${address} accepts the connection and does not answer in time; it is slow, or another program`;
    return { stage: "answer", message };
  }
  if (codeOf(/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|TimeoutError)$/) || says(/timed out|^timeout/i)) {
    const remedy = "check firewalls and routes between here and there";
    return { stage: "answer", message: `no answer from ${address}; ${remedy}` };
  }
  if (codeOf(/^(ECONNRESET|EPIPE)$/) || says(/^Connection terminated unexpectedly/)) {
    return { stage: "closed", message: `${address} closed the connection; check the port and whether it wants TLS` };
  }
  return undefined;
}

/** The name of an error as its server tells it, or other words: a server may put a secret there, or markup. */
export function errorWord(word: string): string {
  return /^[A-Za-z][A-Za-z0-9_.]{0,39}$/.test(word) ? word : "an error without a usable name";
}

/** One sentence for an answer, or the lack of one, that no rule of the caller explains. `word` names the error. */
export function unexplainedAnswer(status: number | undefined, address: string, expected: string, word: string): string {
  if (status !== undefined && status < 300) return `${address} does not answer like ${expected}; check the address.`;
  const answered = status === undefined ? `No answer from ${address}` : `${address} answers with status ${status}`;
  return `${answered} (${word}).`;
}
