/** What errors of the stores' and queues' clients mean for a pipe. */
import { AppError, type ErrorCode } from "../../../lib/errors.ts";
import { connectionFailure, errorWord, unexplainedAnswer } from "../../../outgoing/connection-failure.ts";
import { addressRefusalOf } from "../../../outgoing/dialer.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";

const unauthorized =
  /AccessDenied|Forbidden|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|AuthenticationFailed|AuthorizationFailure|UserNotFound|not authorized/i;
/** The words of a missing place. Other answers with 404 mean something else, such as a user that does not exist. */
const invalid =
  /\b(?:NoSuchBucket|NoSuchKey|NotFound|InvalidBucketName|ContainerNotFound|ResourceNotFound|InvalidResourceName|\w*NonExistentQueue|QueueDoesNotExist)\b/i;

type ClientError = {
  readonly name?: string;
  readonly Code?: string;
  readonly code?: string;
  readonly message?: string;
  readonly statusCode?: number;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly Region?: string;
  readonly Endpoint?: string;
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
};

/** What a request was about. The members are those of `source.objectStorage` by which a user corrects it. */
export type AskedThing = {
  /** The bucket, container or queue, at the beginning of a sentence. */
  readonly name: string;
  readonly expected: "an object store" | "a queue";
  readonly address: string;
  readonly members: { readonly name: string; readonly address: string; readonly login: string };
};

/** The member by which requests to AWS and compatible stores are signed. */
export function loginOf({ accessKey, iamRole }: ObjectStorageConfig): string {
  return accessKey === undefined && iamRole !== undefined ? "iamRole" : "accessKey";
}

/** SOURCE_INVALID for a member of `source.objectStorage`. */
export function invalidMember(member: string, message: string, cause?: unknown): AppError {
  return new AppError("SOURCE_INVALID", message, {
    cause,
    issues: [{ path: `source.objectStorage.${member}`, message }],
  });
}

/** Converts an error of a store's client; the client's own text stays private. */
export function storeError(error: unknown, { name: place, expected, address, members }: AskedThing): AppError {
  if (error instanceof AppError) return error;
  const refused = addressRefusalOf(error);
  if (refused !== undefined) return refused;
  const fail = (code: ErrorCode, name: string, message: string) => {
    const path = `source.objectStorage.${name}`;
    return new AppError(code, message, { cause: error, issues: [{ path, message }] });
  };
  const { name = "", Code, code, message = "", $metadata, statusCode } = error as ClientError;
  const status = $metadata?.httpStatusCode ?? statusCode;
  const word = errorWord(Code ?? code ?? name);
  const text = `${word} ${name} ${message}`;
  const unreachable = status === undefined ? connectionFailure(error, address) : undefined;
  if (unreachable !== undefined)
    return fail("SOURCE_UNREACHABLE", members.address, `${place} cannot be reached: ${unreachable}.`);
  const elsewhere = elsewhereOf(error as ClientError, word, status);
  if (elsewhere !== undefined) {
    const code = status === 302 || status === 307 ? "SOURCE_UNREACHABLE" : "SOURCE_INVALID";
    return fail(code, members.name, `${place} is not at ${address} (${word}); ${elsewhere}.`);
  }
  if (unauthorized.test(text) || status === 401 || status === 403) {
    return fail("SOURCE_UNAUTHORIZED", members.login, `${place} refuses access (${word}).`);
  }
  if (invalid.test(text)) {
    return fail("SOURCE_INVALID", members.name, `${place} does not exist (${word}).`);
  }
  return fail("SOURCE_UNREACHABLE", members.address, unexplainedAnswer(status, address, expected, word));
}

/** What to correct when a store sends a request elsewhere; undefined for other answers. */
function elsewhereOf(error: ClientError, word: string, status = 0): string | undefined {
  const { Region, Endpoint = "", $response } = error;
  const isRedirected = [301, 302, 307, 308].includes(status);
  // The same word has another cause unless the answer names a region.
  if (!isRedirected && (word !== "AuthorizationHeaderMalformed" || Region === undefined)) return undefined;
  const region = Region ?? $response?.headers?.["x-amz-bucket-region"] ?? "";
  if (/^[a-z0-9-]{1,40}$/.test(region)) return `its region is ${region}: write the address of that region`;
  if (/^[a-z0-9.-]{1,253}$/i.test(Endpoint)) return `the answer gives its endpoint as ${Endpoint}`;
  return "check the region and the host of the address";
}
