/** Converts errors of the AWS client; the client's own text stays private. */
import { AppError } from "../../../lib/errors.ts";
import { addressRefusalOf } from "../../../outgoing/dialer.ts";
import { StreamError } from "../stream.ts";

const unauthorized =
  /AccessDenied|UnrecognizedClient|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|ExpiredToken|InvalidClientTokenId|MissingAuthenticationToken|CredentialsProviderError|OptInRequired|NotAuthorized|not authorized/i;
const throttled = /ProvisionedThroughputExceeded|LimitExceeded|Throttling|TooManyRequests|SlowDown/i;

type ClientError = {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
};

/** Names the stream and, if known, the faulty part of the configuration. */
export function streamError(error: unknown, stream: string, address: string): AppError | StreamError {
  if (error instanceof AppError || error instanceof StreamError) return error;
  const refused = addressRefusalOf(error);
  if (refused !== undefined) return refused;
  const { name = "", code, message = "", $metadata } = error as ClientError;
  const word = code ?? name;
  const status = $metadata?.httpStatusCode;
  if (throttled.test(name)) return new StreamError("throttled", error);
  if (/ExpiredIterator/.test(name)) return new StreamError("expired", error);
  if (/KMS/.test(name)) {
    return new AppError("SOURCE_UNAUTHORIZED", `The key that encrypts stream "${stream}" cannot be used (${word}).`, {
      cause: error,
    });
  }
  if (unauthorized.test(`${name} ${message}`) || status === 401 || status === 403) {
    const text = `Access to stream "${stream}" is refused (${word}); check accessKey or iamRole and their permissions.`;
    return new AppError("SOURCE_UNAUTHORIZED", text, { cause: error });
  }
  if (name === "ResourceNotFoundException") {
    if (/shard/i.test(message) && !/^Stream /.test(message)) return new StreamError("gone", error);
    return new AppError("SOURCE_INVALID", `Stream "${stream}" does not exist in this region and account.`, {
      cause: error,
    });
  }
  if (name === "ResourceInUseException") return new StreamError("busy", error);
  if (name === "InvalidArgumentException") return new StreamError("gone", error);
  return new AppError("SOURCE_UNREACHABLE", `No answer from ${address} (${word}).`, { cause: error });
}
