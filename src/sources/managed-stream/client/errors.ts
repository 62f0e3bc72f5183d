/** Converts errors of the AWS client; the client's own text stays private. */
import { AppError, type ErrorCode } from "../../../lib/errors.ts";
import { connectionFailure, errorWord, unexplainedAnswer } from "../../../outgoing/connection-failure.ts";
import { addressRefusalOf } from "../../../outgoing/dialer.ts";
import { StreamError } from "../stream.ts";

const unauthorized =
  /AccessDenied|UnrecognizedClient|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|ExpiredToken|InvalidClientTokenId|MissingAuthenticationToken|OptInRequired|NotAuthorized|not authorized/i;
const throttled = /ProvisionedThroughputExceeded|LimitExceeded|Throttling|TooManyRequests|SlowDown/i;

type ClientError = {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
};

/** Explains the errors of requests that name no stream. */
export function accountError(error: unknown, address: string): AppError {
  const known = errorOf(error, "the list of streams", address);
  if (known instanceof AppError) return known;
  return new AppError("SOURCE_UNREACHABLE", `${address} refuses the request for now; try again.`, { cause: error });
}

/** Names the stream and, if known, the faulty part of the configuration. */
export function streamError(error: unknown, stream: string, address: string): AppError | StreamError {
  return errorOf(error, `stream "${stream}"`, address);
}

/** `place` is what was asked for, as a noun within a sentence. */
function errorOf(error: unknown, place: string, address: string): AppError | StreamError {
  if (error instanceof AppError || error instanceof StreamError) return error;
  const refused = addressRefusalOf(error);
  if (refused !== undefined) return refused;
  const fail = (code: ErrorCode, member: string, message: string) => {
    const path = `source.managedStream.${member}`;
    return new AppError(code, message, { cause: error, issues: [{ path, message }] });
  };
  const { name = "", code, message = "", $metadata } = error as ClientError;
  const word = errorWord(code ?? name);
  const status = $metadata?.httpStatusCode;
  if (throttled.test(name)) return new StreamError("throttled", error);
  if (/ExpiredIterator/.test(name)) return new StreamError("expired", error);
  // Without an endpoint, the region makes the address.
  const addressMember = /\.amazonaws\.com(?:\.cn)?$/.test(address) ? "region" : "endpoint";
  const unreachable = status === undefined ? connectionFailure(error, address) : undefined;
  if (unreachable !== undefined) {
    return fail("SOURCE_UNREACHABLE", addressMember, `${capitalized(place)} cannot be reached: ${unreachable}.`);
  }
  if (/KMS/.test(name)) {
    return fail("SOURCE_UNAUTHORIZED", "accessKey", `The key that encrypts ${place} cannot be used (${word}).`);
  }
  if (unauthorized.test(`${name} ${message}`) || status === 401 || status === 403) {
    const text = `Access to ${place} is refused (${word}); check accessKey or iamRole and their permissions.`;
    return fail("SOURCE_UNAUTHORIZED", "accessKey", text);
  }
  if (name === "ResourceNotFoundException") {
    if (/shard/i.test(message) && !/^Stream /.test(message)) return new StreamError("gone", error);
    return fail("SOURCE_INVALID", "streamName", `${capitalized(place)} does not exist in this region and account.`);
  }
  if (name === "ResourceInUseException") return new StreamError("busy", error);
  if (name === "InvalidArgumentException") return new StreamError("gone", error);
  return fail("SOURCE_UNREACHABLE", addressMember, unexplainedAnswer(status, address, "Kinesis", word));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
