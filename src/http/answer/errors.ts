/** Converts any thrown value into an AppError, and an AppError into the body of its API. */
import { AppError, asAppError, type EngineErrorCode, errorCodes, type Issue } from "../../lib/errors.ts";

export type ApiName = "management" | "observability";

type ErrorBody = {
  readonly status?: number;
  readonly requestId: string;
  readonly error: string;
  readonly message?: string;
  readonly code: string;
  readonly issues?: readonly Issue[];
  readonly engine?: EngineErrorCode;
};

/**
 * Management API: `{status, requestId, error: "CODE_WORD: sentence", code, issues?, engine?}`; observability API:
 * `message` and `error`.
 */
export function errorBody(name: ApiName, error: AppError, requestId: string): ErrorBody {
  const issues = error.issues === undefined ? {} : { issues: error.issues };
  if (name === "observability") {
    return { message: error.message, error: error.message, code: error.code, requestId, ...issues };
  }
  const engine = error.engine === undefined ? {} : { engine: error.engine };
  const sentence = `${errorCodes[error.code].word}: ${error.message}`;
  return { status: error.status, requestId, error: sentence, code: error.code, ...issues, ...engine };
}

/** `bodyLimit` is that of the request, in bytes. */
export function toAppError(error: unknown, bodyLimit?: number): AppError {
  const known = asAppError(error);
  if (known !== undefined) return known;
  switch ((error as { code?: unknown } | null)?.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new AppError("PAYLOAD_TOO_LARGE", `The request body has more than ${bodyLimit} bytes.`, { cause: error });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    // A QUERY request without one.
    case "FST_ERR_ROUTE_MISSING_CONTENT_TYPE":
      return new AppError("UNSUPPORTED_MEDIA_TYPE", "Send the body with Content-Type: application/json.", {
        cause: error,
      });
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new AppError("BAD_REQUEST", "The Content-Length does not match the body.", { cause: error });
    case "FST_ERR_BAD_URL":
      return new AppError("BAD_REQUEST", "The URL is not well-formed.", { cause: error });
    // An engine has ended while it was asked, and nobody closer to it has said so.
    case "ECONNREFUSED":
    case "ECONNRESET":
    case "EPIPE":
      return new AppError("SERVICE_UNAVAILABLE", "A service that this request needs has ended the connection.", {
        cause: error,
      });
    default:
      // The framework and its parts refuse a path with `%2e%2e`, say.
      if (isClientError(error)) {
        return new AppError("BAD_REQUEST", "The request has a path or head that is not accepted.", { cause: error });
      }
      return new AppError("INTERNAL", "An unexpected error occurred; the request id finds it in the server's log.", {
        cause: error,
      });
  }
}

function isClientError(error: unknown): boolean {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === "number" && status >= 400 && status < 500;
}
