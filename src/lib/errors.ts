/**
 * One error type and one code table. A message is public: it may reach any caller, so it contains fields and states,
 * never secrets, file paths or our own SQL. The private reason is the `cause` and is only ever logged. `docs/errors.md`
 * is generated from the table.
 */
import { publicText } from "./public-text.ts";

export type Issue = {
  readonly path: string;
  readonly message: string;
  /** Offset of the mistake in the text at `path`, in UTF-16 units, if known. */
  readonly position?: number;
  /** SQL that makes the table fit. */
  readonly statement?: string;
};

type CodeRow = {
  /** HTTP status on both APIs. */
  readonly status: number;
  /** First word of the `error` sentence on the management API, as in the ClickHouse Cloud API. */
  readonly word: string;
  /** True when the same request may succeed later without a change by the caller. */
  readonly retryable: boolean;
  /** What the operator should do. */
  readonly help: string;
};

export const errorCodes = {
  ...rows(400, "BAD_REQUEST", false, {
    BAD_REQUEST: "Correct the fields named in `issues` and send the request again.",
    NOT_SUPPORTED:
      "Leave out what the message names: this server does not have that part of the ClickHouse Cloud API; see docs/compat.md.",
    INVALID_JSON: "Send one well-formed JSON document.",
    FILTER_INVALID: "Correct the filter at `position`; see docs/filter-language.md.",
    UNKNOWN_COLUMN: "Use a column of the table; the message suggests similar names.",
    SOURCE_UNAUTHORIZED: "Check the credentials and permissions of the pipe's source.",
    SOURCE_ADDRESS_REFUSED:
      "Use an address that the server may connect to, or ask the operator to allow the network; see docs/outgoing.md.",
    SOURCE_INVALID: "Correct the part of the source that the message names: it does not exist, or cannot be used.",
    SOURCE_LOST:
      "The source no longer holds the pipe's position, or its history has changed. Send the pipe the `resync` command.",
    DESTINATION_INVALID: "Correct the destination table, its columns or the field mappings.",
    CONNECTION_UNAUTHORIZED:
      "Check user and password of the service's connection, and run the GRANT statement that the message names.",
    CONNECTION_INVALID: "Correct the member of the service's connection that the message names; see docs/external.md.",
    KUBERNETES_REFUSED:
      "Correct the members named in `issues`, or have the operator of the cluster do what the message says; see docs/kubernetes.md.",
  }),
  ...rows(400, "BAD_REQUEST", true, {
    SOURCE_UNREACHABLE: "Check the address, DNS, firewall and TLS settings of the pipe's source.",
    CONNECTION_UNREACHABLE:
      "Check the URLs of the service's connection, DNS, firewall and TLS between this server and the ClickHouse server.",
  }),
  ...rows(401, "UNAUTHORIZED", false, {
    UNAUTHORIZED: "Send valid credentials; check that the key is enabled and not expired.",
  }),
  ...rows(403, "FORBIDDEN", false, {
    FORBIDDEN:
      "Use a key whose role permits the operation. Some statements are available to no role; see docs/gateway.md.",
  }),
  ...rows(404, "NOT_FOUND", false, {
    NOT_FOUND: "Check the ids. Objects of other organizations are reported as not found.",
  }),
  ...rows(405, "METHOD_NOT_ALLOWED", false, { METHOD_NOT_ALLOWED: "Use one of the methods in the `Allow` header." }),
  ...rows(409, "CONFLICT", true, {
    CONFLICT:
      "Wait for the current transition to end, or bring the object into one of the states that the message names.",
    SERVICE_ASLEEP:
      "The service is idle or stopped and the request may not wake it. Wake it with the `awake` command, or allow the request to.",
  }),
  ...rows(409, "CONFLICT", false, {
    LIMIT_REACHED:
      "Delete unused objects, or raise the limit that the message names: a server setting, or the service's `diskGb`.",
  }),
  ...rows(412, "PRECONDITION_FAILED", false, {
    PRECONDITION_FAILED:
      "Somebody has changed the object since it was read: get it again, and repeat the change with its new entity tag.",
  }),
  ...rows(413, "PAYLOAD_TOO_LARGE", false, { PAYLOAD_TOO_LARGE: "Send a smaller body." }),
  ...rows(415, "UNSUPPORTED_MEDIA_TYPE", false, { UNSUPPORTED_MEDIA_TYPE: "Send `Content-Type: application/json`." }),
  ...rows(421, "MISDIRECTED_REQUEST", false, {
    MISDIRECTED_REQUEST:
      "Use a name of the server that it knows, or set `--public-host` to the name in the Host header.",
  }),
  ...rows(422, "UNPROCESSABLE", false, {
    IDEMPOTENCY_KEY_REUSED: "Send the same body under an `Idempotency-Key`, and every other body under another key.",
    QUERY_FAILED: "Change the statement. The engine refused or could not run it; the message gives the reason.",
    BACKUP_UNUSABLE:
      "Verify the backup and read its `problems`. Restore another backup, or send `force` to restore the readable part.",
  }),
  ...rows(424, "FAILED_DEPENDENCY", true, {
    SERVICE_NOT_RUNNING:
      "Start the service, or wake it (`awake` in the API, `millrace service wake NAME`), and try again.",
  }),
  ...rows(429, "TOO_MANY_REQUESTS", true, {
    TOO_MANY_REQUESTS: "Retry after the time in the rate limit headers.",
    INBOX_FULL:
      "Rows are sent faster than they are loaded: look at the state of the pipe and its service, or raise `maxInboxGb` of the source.",
  }),
  ...rows(500, "INTERNAL_ERROR", false, {
    STORED_STATE_UNREADABLE:
      "Stored state of the pipe or service has a form that this server cannot read. Run the version that wrote it; or send the pipe the command resync, or set the connection of the service again.",
  }),
  ...rows(500, "INTERNAL_ERROR", true, { INTERNAL: "Look up the request id in the server's log." }),
  ...rows(503, "UNAVAILABLE", true, {
    OVERLOADED: "Try again in a moment; send fewer concurrent requests, or give the service more memory.",
    STORE_UNAVAILABLE:
      "The server of the metadata database (`--database`) does not answer: start it, or check the network to it. Millrace connects again by itself.",
    DISK_FAILED:
      "The disk that the message names is mounted read-only or fails: look at the system's log. What was begun is finished by itself when it can be written again.",
    KUBERNETES_UNREACHABLE:
      "The API server of Kubernetes does not answer: check it, the network to it and `--kubernetes-config`. Running services go on.",
    LEASE_LOST:
      "Another process has taken over what this one was doing: a pipe, a service, or the whole data directory. Nothing was changed; send the request again, to another server if this one stops.",
    SERVICE_UNAVAILABLE: "The service is stopped or has failed. Start it and check its state.",
  }),
  ...rows(504, "TIMEOUT", true, {
    TIMEOUT: "Request a shorter time range or a coarser granularity, or raise the limit.",
  }),
  ...rows(507, "INSUFFICIENT_STORAGE", true, {
    DISK_FULL:
      "Free space on the disk that the message names, or enlarge it. What was begun is finished by itself then.",
  }),
} satisfies Record<string, CodeRow>;

export type ErrorCode = keyof typeof errorCodes;

/** The code and name that ClickHouse gives an error. */
export type EngineErrorCode = { readonly code: number; readonly name: string };

type AppErrorOptions = {
  readonly cause?: unknown;
  readonly issues?: readonly Issue[];
  /** Present when the engine refused a statement of the caller. */
  readonly engine?: EngineErrorCode;
};

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly issues: readonly Issue[] | undefined;
  readonly engine: EngineErrorCode | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(publicText(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.issues = options.issues?.map((issue) => ({ ...issue, message: publicText(issue.message) }));
    this.engine = options.engine;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }

  get retryable(): boolean {
    return errorCodes[this.code].retryable;
  }
}

/** An error of one member of the input: the sentence names it, and so does the issue. */
export function memberError(code: ErrorCode, path: string, message: string, cause?: unknown): AppError {
  return new AppError(code, `${path}: ${message}`, { cause, issues: [{ path, message }] });
}

export function badRequest(path: string, message: string): AppError {
  return memberError("BAD_REQUEST", path, message);
}

/** Throws an error whose sentence names every issue; nothing without one. */
export function refuseIssues(issues: readonly Issue[], code: ErrorCode = "BAD_REQUEST"): void {
  if (issues.length === 0) return;
  throw new AppError(code, issues.map(({ path, message }) => `${path}: ${message}`).join("; "), { issues });
}

/** NOT_FOUND with its standard sentence; `what` is a capitalized noun. */
export function notFound(what: string, id: string): AppError {
  return new AppError("NOT_FOUND", `${what} ${id} does not exist.`);
}

/** The value, if there is one; throws NOT_FOUND. */
export function found<T>(value: T | undefined, what: string, id: string): T {
  if (value === undefined) throw notFound(what, id);
  return value;
}

/** The sentence for a caller: an AppError's own message, or a fixed one for anything unexpected. */
export function publicMessage(error: unknown): string {
  return asAppError(error)?.message ?? "An unexpected error occurred.";
}

/** An error of the operating system that says what the operator should do; undefined: another one. */
export function asAppError(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  switch ((error as { code?: unknown } | null)?.code) {
    case "ENOSPC":
    case "EDQUOT":
      return diskFull(error);
    case "EROFS":
    case "EIO":
      return diskFailed(error);
    case "EMFILE":
    case "ENFILE":
      return new AppError("OVERLOADED", "The server has no file descriptor left: raise its limit of open files.", {
        cause: error,
      });
    default:
      return undefined;
  }
}

export function diskFull(cause: unknown): AppError {
  return new AppError("DISK_FULL", "The disk of the data directory is full.", { cause });
}

export function diskFailed(cause: unknown): AppError {
  return new AppError("DISK_FAILED", "The disk of the data directory cannot be written.", { cause });
}

/** The message and the chain of causes on one line, for logs only. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  for (
    let e: unknown = error;
    e !== undefined && e !== null && parts.length < 5;
    e = e instanceof Error ? e.cause : undefined
  ) {
    const part = e instanceof Error ? e.message || e.name : String(e);
    // Some messages have that of their cause.
    if (!parts.some((said) => said.includes(part))) parts.push(part);
  }
  return parts.map((part, at) => (at < parts.length - 1 ? part.replace(/\.$/, "") : part)).join(": ");
}

/** The rows of codes that differ by what the operator should do. */
function rows<Name extends string>(
  status: number,
  word: string,
  retryable: boolean,
  helps: Readonly<Record<Name, string>>,
): Record<Name, CodeRow> {
  const made = Object.entries<string>(helps).map(([name, help]) => [name, { status, word, retryable, help }]);
  return Object.fromEntries(made) as Record<Name, CodeRow>;
}
