/** Explains broker failures in words that name the faulty part of the configuration. Never with credentials. */
import { AppError } from "../../lib/errors.ts";
import { bracketed } from "../../lib/host-list.ts";
import { connectionFailure, type ErrorLink, errorChain } from "../../outgoing/connection-failure.ts";
import type { DialTarget } from "../../outgoing/dialer.ts";
import { kafkaCodes, nameOf } from "./protocol/error-codes.ts";

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

/** A connection to this broker cannot be opened, for the reason in `cause`. */
export class UnreachableBroker extends Error {
  readonly address: DialTarget;

  constructor(address: DialTarget, cause: unknown) {
    super("the broker cannot be reached", { cause });
    this.address = address;
  }
}

/** What of a login the broker refuses; `listener` takes no login at all. */
type LoginFault = "mechanism" | "credentials" | "listener";

/** The broker refuses the login. */
export class LoginError extends Error {
  readonly fault: LoginFault;

  constructor(fault: LoginFault) {
    super(`the login fails: ${fault}`);
    this.fault = fault;
  }
}

export function failureOfPartition(topic: string, errorCode: number): AppError {
  if (errorCode === kafkaCodes.TOPIC_AUTHORIZATION_FAILED)
    return unauthorized(`reading the topic "${topic}" is not allowed`);
  if (errorCode === kafkaCodes.UNKNOWN_TOPIC_OR_PARTITION) return unknownTopic(topic);
  if (errorCode === kafkaCodes.INVALID_TOPIC_EXCEPTION) {
    const message = `"${topic}" is not the name of a topic: letters, digits, ".", "_" and "-" only, without wildcards.`;
    return sourceError("SOURCE_INVALID", "topics", message);
  }
  const message = `The broker refuses to read the topic "${topic}" (error ${nameOf(errorCode)}).`;
  return sourceError("SOURCE_UNREACHABLE", "topics", message);
}

export function damagedRecords(where: { topic: string; partition: number }, offset: unknown, times: number): AppError {
  const place = `topic "${where.topic}", partition ${where.partition}, offset ${offset}`;
  const message = `The broker sends damaged records (${place}): their checksum was wrong ${times} times. None were loaded.`;
  return new AppError("SOURCE_INVALID", message);
}

export function unknownTopic(topic: string): AppError {
  return sourceError("SOURCE_INVALID", "topics", `The topic "${topic}" does not exist, or may not be seen.`);
}

export function unauthorized(what: string): AppError {
  return sourceError("SOURCE_UNAUTHORIZED", "credentials", `The broker does not accept the credentials: ${what}.`);
}

/** Converts client errors into one SOURCE_* error that names the member; an internal error stays as it is. */
export function brokerSourceError(error: unknown): Error {
  if (error instanceof AppError || error instanceof TypeError || error instanceof RangeError) return error;
  const links = errorChain(error);
  // Errors of our own login code are wrapped by the client.
  const own = links.find((link) => link instanceof AppError);
  if (own instanceof AppError) return own;
  const login = links.find((link) => link instanceof LoginError);
  if (login !== undefined) return refusedLogin(login, error);
  const unreachable = links.filter((link) => link instanceof UnreachableBroker);
  if (unreachable.length > 0) {
    const places = [...new Set(unreachable.map(placeProblem))];
    const head = places.length === 1 ? "The broker cannot be reached" : "No broker can be reached";
    return sourceError("SOURCE_UNREACHABLE", "brokers", `${head}: ${places.join("; ")}.`, error);
  }
  const answered = links.find((link) => link instanceof BrokerError);
  if (answered !== undefined) return answeredError(answered, error);
  const message = "The broker closed the connection: it restarts, or it wants a login, TLS or a client certificate.";
  return sourceError("SOURCE_UNREACHABLE", "brokers", message, error);
}

function refusedLogin({ fault }: LoginError, cause: unknown): AppError {
  if (fault === "listener") {
    const message =
      "The broker's listener takes no SASL login: remove credentials, or use the port of its SASL listener.";
    return sourceError("SOURCE_UNAUTHORIZED", "credentials", message, cause);
  }
  const isMechanism = fault === "mechanism";
  const what = isMechanism ? "SASL: the mechanism is not enabled there" : "SASL: wrong user name or password";
  const message = `The broker does not accept the login (${what}).`;
  return sourceError("SOURCE_UNAUTHORIZED", isMechanism ? "authentication" : "credentials", message, cause);
}

function answeredError({ errorCode }: BrokerError, cause: unknown): AppError {
  const message =
    errorCode === undefined
      ? "The broker's answer cannot be understood."
      : `The broker answers with the error ${nameOf(errorCode)}.`;
  return sourceError("SOURCE_UNREACHABLE", "brokers", message, cause);
}

/** What failed at one broker. */
function placeProblem({ address, cause }: UnreachableBroker): string {
  const place = `${bracketed(address.host)}:${address.port}`;
  const texts = errorChain(cause).map(text);
  const says = (pattern: RegExp) => texts.some((line) => pattern.test(line));
  if (says(/requires TLS/)) return `${place} wants TLS; give caCertificate or SSL:// in front of it`;
  if (says(/TLS handshake failed/i)) return `${place} does not speak TLS`;
  if (says(/alert/i)) return `${place} does not accept the client certificate`;
  const known = connectionFailure(cause, place);
  if (known !== undefined) return known;
  const answered = errorChain(cause).find((link) => link instanceof BrokerError);
  if (answered?.errorCode !== undefined) return `${place} answers with the error ${nameOf(answered.errorCode)}`;
  if (answered !== undefined) return `the answer of ${place} cannot be understood; it must speak the Kafka protocol`;
  return `${place} closes the connection; it restarts, or it wants a login, TLS or a client certificate`;
}

export function sourceError(
  code: "SOURCE_UNREACHABLE" | "SOURCE_UNAUTHORIZED" | "SOURCE_INVALID",
  member: string,
  message: string,
  cause?: unknown,
): AppError {
  return new AppError(code, message, { cause, issues: [{ path: `source.messageBroker.${member}`, message }] });
}

function text(link: ErrorLink): string {
  return typeof link.message === "string" ? link.message : "";
}
