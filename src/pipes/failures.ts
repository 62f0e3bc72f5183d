/** Classifies a failed insert: retry, bad bytes, failing source, or unfit destination. */

import { ClickHouseError } from "../clickhouse/client.ts";
import { clickHouseCodes, codesOf, isBrokenBetweenServers, isDataError } from "../clickhouse/error-codes.ts";
import { AppError, describeError } from "../lib/errors.ts";
import { publicText, withoutMiddle } from "../lib/public-text.ts";

/** `store`: the metadata database does not answer, or cannot be written. */
export type FailureKind = "data" | "source" | "destination" | "service" | "engine" | "store";

export type Failure = {
  readonly kind: FailureKind;
  readonly code: number;
  readonly message: string;
  /** False for unclassified codes: after some attempts they count as `data`. */
  readonly known: boolean;
  /** The store has no such object (or its bucket): only a look at the store tells whether that is for good. */
  readonly isMissing?: boolean;
};

/** Timeouts, memory, too many parts or queries, network, replicas, cancelled: the same insert may succeed later. */
const engineCodes = codesOf(
  "UNEXPECTED_END_OF_FILE",
  "TIMEOUT_EXCEEDED",
  "READONLY",
  "DNS_ERROR",
  "TOO_MANY_SIMULTANEOUS_QUERIES",
  "NO_FREE_CONNECTION",
  "SOCKET_TIMEOUT",
  "NETWORK_ERROR",
  "ABORTED",
  "MEMORY_LIMIT_EXCEEDED",
  "UNEXPECTED_PACKET_FROM_SERVER",
  "NO_ZOOKEEPER",
  "TABLE_IS_READ_ONLY",
  "NOT_ENOUGH_SPACE",
  "TOO_MANY_PARTS",
  "ALL_CONNECTION_TRIES_FAILED",
  "TOO_FEW_LIVE_REPLICAS",
  "UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE",
  "REPLICA_IS_NOT_IN_QUORUM",
  "UNKNOWN_STATUS_OF_INSERT",
  "UNFINISHED",
  "QUERY_WAS_CANCELLED",
  "SYSTEM_ERROR",
  "CANNOT_ASSIGN_ALTER",
  "DEADLOCK_AVOIDED",
  "SERVER_OVERLOADED",
  "KEEPER_EXCEPTION",
  "UNKNOWN_EXCEPTION",
);
/** The server refuses the service's own credentials: only a change of the connection helps, and pipes wait for it. */
export const loginCodes = codesOf(
  "UNKNOWN_USER",
  "WRONG_PASSWORD",
  "REQUIRED_PASSWORD",
  "IP_ADDRESS_NOT_ALLOWED",
  "AUTHENTICATION_FAILED",
);
/** Missing names and rights at the destination. */
const destinationCodes = codesOf(
  "NOT_FOUND_COLUMN_IN_BLOCK",
  "DUPLICATE_COLUMN",
  "NO_SUCH_COLUMN_IN_TABLE",
  "NUMBER_OF_COLUMNS_DOESNT_MATCH",
  "BAD_ARGUMENTS",
  "ILLEGAL_COLUMN",
  "UNKNOWN_FUNCTION",
  "UNKNOWN_IDENTIFIER",
  "NOT_IMPLEMENTED",
  "UNKNOWN_TYPE",
  "UNKNOWN_TABLE",
  "SYNTAX_ERROR",
  "UNKNOWN_DATABASE",
  "UNKNOWN_SETTING",
  "TABLE_IS_DROPPED",
  "SUPPORT_IS_DISABLED",
  "ACCESS_DENIED",
  "ALTER_OF_COLUMN_IS_FORBIDDEN",
);
const sourceCodes = codesOf("S3_ERROR", "RECEIVED_ERROR_FROM_REMOTE_IO_SERVER", "POCO_EXCEPTION");

/** What the engine appends when a materialized view failed. A quote ends any text that a row may have supplied. */
const failedInView = /: while pushing to view [^'"]+\. \([A-Z_\d]+\)(?: \(version [^'"]*\))?\s*$/;

const inReader = /: While executing \w+InputFormat: While executing ReadFromObjectStorage\b/;

/** A single allocation, and the limit of all of a statement or a service: see `isBeyondMemory`. */
const allocation = /attempt to allocate chunk of ([\d.]+) (\w+)\).*?maximum: ([\d.]+) (\w+)/s;
const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** True when one piece alone is larger than the limit, as damaged files ask for: it never fits. */
function isBeyondMemory({ code, message }: ClickHouseError): boolean {
  if (code !== clickHouseCodes.MEMORY_LIMIT_EXCEEDED || !inReader.test(message)) return false;
  const [, size, sizeUnit = "", limit, limitUnit = ""] = allocation.exec(message) ?? [];
  return Number(size) * 1024 ** units.indexOf(sizeUnit) > Number(limit) * 1024 ** units.indexOf(limitUnit);
}

/** True for an error that neither time nor another attempt can resolve. */
export function isFinal(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === "SOURCE_LOST" || error.code === "STORED_STATE_UNREADABLE");
}

export function failureOf(error: unknown): Failure {
  if (error instanceof ClickHouseError) return ofEngine(error);
  if (error instanceof AppError) {
    return { kind: kindOfError(error), code: 0, message: error.message, known: true };
  }
  const { path, code } = (error instanceof Error ? error : {}) as Partial<NodeJS.ErrnoException>;
  // A body that was read from a file, whose place on this server concerns nobody.
  if (path !== undefined)
    return { kind: "source", code: 0, message: `a file that was sent is gone (${code})`, known: true };
  return { kind: "engine", code: 0, message: `no answer from the engine (${describeError(error)})`, known: true };
}

function kindOfError({ code }: AppError): FailureKind {
  if (["STORE_UNAVAILABLE", "DISK_FULL", "DISK_FAILED"].includes(code)) return "store";
  return code.startsWith("SOURCE_") ? "source" : "service";
}

function ofEngine(error: ClickHouseError): Failure {
  const { code } = error;
  const known = (kind: FailureKind): Failure => ({ kind, code, message: error.message, known: true });
  if (loginCodes.has(code)) return known("service");
  // By then the rows are in the table itself: only a repeat of the same insert, with its token, is right.
  if (failedInView.test(error.message) && !engineCodes.has(code)) return known("destination");
  // Given up here, a batch would be on some shards, and in their tables but not behind their views.
  if (isBrokenBetweenServers(error)) return known("engine");
  // No store sends this: it is our own response to the engine for an object whose bytes cannot be decompressed.
  if (code === clickHouseCodes.S3_ERROR && /HTTP response code: 422\b/.test(error.message)) return known("data");
  if (code === clickHouseCodes.S3_ERROR && /HTTP response code: 404\b/.test(error.message))
    return { ...known("source"), isMissing: true };
  if (sourceCodes.has(code)) return known("source");
  // A batch of an earlier version: an object with such a key must not stop the others.
  if (/^Code: 36\. DB::Exception: Invalid S3 key: /.test(error.message)) return known("data");
  // A file whose compression this build of the engine cannot read must not stop the others.
  if (/Unsupported compression method/.test(error.message)) return known("data");
  if (isDataError(error)) return known("data");
  // A reader of objects uses these codes for what it finds in a file.
  if (destinationCodes.has(code) && inReader.test(error.message)) return known("data");
  if (isBeyondMemory(error)) return known("data");
  if (destinationCodes.has(code)) return known("destination");
  if (engineCodes.has(code) || code === 0) return known("engine");
  return { kind: "data", code, message: error.message, known: false };
}

/** The sentence for users: without our statement, version and secrets. */
export function sentenceOf(failure: Failure): string {
  const text = failure.message
    .replace(/^Code: \d+\. DB::Exception: /, "")
    // Only at the end: the texts before it may come from a row, and its number follows them.
    .replace(/\s*(?:\(version [^()]*(?:\([^()]*\))?\))?\.?\s*$/, "")
    .replace(/: While executing[^('"]*$/, "");
  return publicText(withoutMiddle(scrub(text), 1000));
}

/** Removes what looks like a credential: signatures and keys of URLs and connection strings. */
export function scrub(text: string): string {
  return text
    .replaceAll(
      /(AccountKey|SharedAccessSignature|sig|X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token)=[^;&\s'"]+/gi,
      "$1=[hidden]",
    )
    .replaceAll(/:\/\/[^/\s:@]+:[^/\s@]+@/g, "://[hidden]@");
}
