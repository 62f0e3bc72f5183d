/** Explains broker failures in words that name the faulty part of the configuration. Never with credentials. */
import { AppError } from "../../lib/errors.ts";
import { kafkaCodes, nameOf } from "./protocol/error-codes.ts";

type Link = { readonly code?: unknown; readonly message?: unknown } & object;

/** The broker answered a request with a protocol error, or with an invalid response. */
export class BrokerError extends Error {
  /** Error code of the protocol. */
  readonly errorCode: number | undefined;

  constructor(what: string, errorCode: number | undefined, options?: ErrorOptions) {
    super(`${what} (error ${errorCode ?? "unknown"})`, options);
    this.errorCode = errorCode;
  }
}

/** Throws unless the code of a response means success. */
export function requireDone(errorCode: number, what: string): void {
  if (errorCode !== kafkaCodes.NONE) throw new BrokerError(what, errorCode);
}

/** The broker refuses the login. */
export class LoginError extends Error {
  readonly fault: "mechanism" | "credentials";

  constructor(fault: "mechanism" | "credentials") {
    super(`the login fails: ${fault}`);
    this.fault = fault;
  }
}

export function failureOfPartition(topic: string, errorCode: number): AppError {
  if (errorCode === kafkaCodes.TOPIC_AUTHORIZATION_FAILED)
    return unauthorized(`reading the topic "${topic}" is not allowed`);
  if (errorCode === kafkaCodes.UNKNOWN_TOPIC_OR_PARTITION) return unknownTopic(topic);
  return new AppError(
    "SOURCE_UNREACHABLE",
    `The broker refuses to read the topic "${topic}" (error ${nameOf(errorCode)}).`,
  );
}

export function damagedRecords(where: { topic: string; partition: number }, offset: unknown, times: number): AppError {
  const place = `topic "${where.topic}", partition ${where.partition}, offset ${offset}`;
  const message = `The broker sends damaged records (${place}): their checksum was wrong ${times} times. None were loaded.`;
  return new AppError("SOURCE_INVALID", message);
}

export function unknownTopic(topic: string): AppError {
  return new AppError("SOURCE_INVALID", `The topic "${topic}" does not exist, or may not be seen.`);
}

export function unauthorized(what: string): AppError {
  return new AppError("SOURCE_UNAUTHORIZED", `The broker does not accept the credentials: ${what}.`);
}

/** Converts client errors into one SOURCE_* error; an internal error stays as it is. */
export function brokerSourceError(error: unknown): Error {
  if (error instanceof AppError || error instanceof TypeError || error instanceof RangeError) return error;
  const links = linksOf(error);
  // Errors of our own login code are wrapped by the client.
  const own = links.find((link) => link instanceof AppError);
  if (own instanceof AppError) return own;
  const has = (pattern: RegExp) => links.find((link) => pattern.test(String(link.code)) || pattern.test(text(link)));
  const fail = (code: "SOURCE_UNREACHABLE" | "SOURCE_UNAUTHORIZED", message: string) =>
    new AppError(code, message, { cause: error });
  const certificate = has(/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|EPROTO|ERR_SSL|TLS handshake|requires TLS|alert/i);
  if (certificate !== undefined) {
    return fail("SOURCE_UNREACHABLE", `TLS to the broker fails: ${reasonOf(certificate)}.`);
  }
  const login = links.find((link) => link instanceof LoginError);
  if (login !== undefined) {
    const isMechanism = login.fault === "mechanism";
    const what = isMechanism ? "SASL: the mechanism is not enabled there" : "SASL: wrong user name or password";
    return fail("SOURCE_UNAUTHORIZED", `The broker does not accept the login (${what}).`);
  }
  if (has(/ENOTFOUND|EAI_AGAIN|EAI_/) !== undefined) {
    return fail("SOURCE_UNREACHABLE", "The name of a broker cannot be resolved (DNS).");
  }
  if (has(/ECONNREFUSED/) !== undefined) return fail("SOURCE_UNREACHABLE", "A broker refuses the connection.");
  if (has(/TIMEOUT|timed out/) !== undefined) return fail("SOURCE_UNREACHABLE", "A broker does not answer in time.");
  const answered = links.find((link) => link instanceof BrokerError);
  if (answered !== undefined) {
    const { errorCode } = answered;
    if (errorCode === undefined) return fail("SOURCE_UNREACHABLE", "The broker's answer cannot be understood.");
    return fail("SOURCE_UNREACHABLE", `The broker answers with the error ${nameOf(errorCode)}.`);
  }
  return fail(
    "SOURCE_UNREACHABLE",
    "The broker closed the connection: it restarts, or it wants a login, TLS or a client certificate.",
  );
}

function reasonOf(link: Link): string {
  if (/requires TLS/.test(text(link))) return "the broker wants TLS; give caCertificate or SSL:// in front of it";
  if (/wrong version number|packet length too long|TLS handshake failed/i.test(text(link))) {
    return "the broker does not speak TLS at this port";
  }
  if (/alert/i.test(text(link))) return "the broker does not accept the client certificate";
  return typeof link.code === "string" ? link.code : "the handshake failed";
}

function text(link: Link): string {
  return typeof link.message === "string" ? link.message : "";
}

/** The error with its causes and aggregated errors, outermost first. */
function linksOf(error: unknown): Link[] {
  const links: Link[] = [];
  const visit = (value: unknown, depth: number) => {
    if (typeof value !== "object" || value === null || depth > 8) return;
    links.push(value as Link);
    const { cause, errors } = value as { cause?: unknown; errors?: unknown };
    visit(cause, depth + 1);
    if (Array.isArray(errors)) for (const part of errors) visit(part, depth + 1);
  };
  visit(error, 0);
  return links;
}
