/** The ClickHouse errors that decisions depend on, by the engine's names. Others pass through as numbers. */
type ErrorFacts = {
  readonly code: number;
  /** The HTTP status that a ClickHouse server answers with; 500 without one. */
  readonly status?: number;
  /** A parser or converter has rejected the bytes, or throwIf a value. */
  readonly isData?: true;
};

const errors = {
  UNEXPECTED_END_OF_FILE: { code: 3 },
  CANNOT_PARSE_TEXT: { code: 6, status: 400, isData: true },
  INCORRECT_NUMBER_OF_COLUMNS: { code: 7, status: 400 },
  THERE_IS_NO_COLUMN: { code: 8, status: 400 },
  NOT_FOUND_COLUMN_IN_BLOCK: { code: 10, status: 400 },
  DUPLICATE_COLUMN: { code: 15 },
  NO_SUCH_COLUMN_IN_TABLE: { code: 16, status: 400 },
  NUMBER_OF_COLUMNS_DOESNT_MATCH: { code: 20 },
  CANNOT_PARSE_ESCAPE_SEQUENCE: { code: 25, status: 400, isData: true },
  CANNOT_PARSE_QUOTED_STRING: { code: 26, status: 400, isData: true },
  CANNOT_PARSE_INPUT_ASSERTION_FAILED: { code: 27, status: 400, isData: true },
  ATTEMPT_TO_READ_AFTER_EOF: { code: 32, isData: true },
  CANNOT_READ_ALL_DATA: { code: 33, isData: true },
  TOO_MANY_ARGUMENTS_FOR_FUNCTION: { code: 34, isData: true },
  TOO_FEW_ARGUMENTS_FOR_FUNCTION: { code: 35 },
  BAD_ARGUMENTS: { code: 36, status: 400 },
  CANNOT_PARSE_DATE: { code: 38, status: 400, isData: true },
  CHECKSUM_DOESNT_MATCH: { code: 40, isData: true },
  CANNOT_PARSE_DATETIME: { code: 41, status: 400, isData: true },
  NUMBER_OF_ARGUMENTS_DOESNT_MATCH: { code: 42 },
  ILLEGAL_TYPE_OF_ARGUMENT: { code: 43, isData: true },
  ILLEGAL_COLUMN: { code: 44, status: 400 },
  UNKNOWN_FUNCTION: { code: 46, status: 404 },
  UNKNOWN_IDENTIFIER: { code: 47, status: 404 },
  NOT_IMPLEMENTED: { code: 48, status: 501 },
  UNKNOWN_TYPE: { code: 50, status: 404 },
  TYPE_MISMATCH: { code: 53, status: 400, isData: true },
  UNKNOWN_STORAGE: { code: 56, status: 404 },
  ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER: { code: 59 },
  UNKNOWN_TABLE: { code: 60, status: 404 },
  SYNTAX_ERROR: { code: 62, status: 400 },
  UNKNOWN_AGGREGATE_FUNCTION: { code: 63 },
  ARGUMENT_OUT_OF_BOUND: { code: 69, isData: true },
  CANNOT_CONVERT_TYPE: { code: 70, isData: true },
  CANNOT_PARSE_NUMBER: { code: 72, status: 400, isData: true },
  UNKNOWN_FORMAT: { code: 73, status: 404 },
  CANNOT_OPEN_FILE: { code: 76, status: 503 },
  UNKNOWN_TYPE_OF_QUERY: { code: 78, status: 404 },
  INCORRECT_FILE_NAME: { code: 79, isData: true },
  UNKNOWN_DATABASE: { code: 81, status: 404 },
  RECEIVED_ERROR_FROM_REMOTE_IO_SERVER: { code: 86 },
  UNEXPECTED_PACKET_FROM_CLIENT: { code: 101 },
  UNEXPECTED_PACKET_FROM_SERVER: { code: 102 },
  UNKNOWN_SETTING: { code: 115, status: 404 },
  INCORRECT_DATA: { code: 117, status: 400, isData: true },
  TOO_LARGE_ARRAY_SIZE: { code: 128, isData: true },
  CANNOT_READ_ARRAY_FROM_TEXT: { code: 130, isData: true },
  TOO_LARGE_STRING_SIZE: { code: 131, isData: true },
  ZERO_ARRAY_OR_TUPLE_INDEX: { code: 135 },
  UNKNOWN_DIRECTION_OF_SORTING: { code: 152 },
  ILLEGAL_DIVISION: { code: 153, status: 400 },
  TOO_MANY_ROWS: { code: 158 },
  TIMEOUT_EXCEEDED: { code: 159, status: 408 },
  TOO_SLOW: { code: 160 },
  READONLY: { code: 164 },
  TOO_DEEP_AST: { code: 167, status: 400 },
  TOO_BIG_AST: { code: 168, status: 400 },
  BAD_TYPE_OF_FIELD: { code: 169 },
  ILLEGAL_AGGREGATION: { code: 184, status: 404 },
  SIZES_OF_ARRAYS_DONT_MATCH: { code: 190, isData: true },
  UNKNOWN_USER: { code: 192, status: 403 },
  WRONG_PASSWORD: { code: 193, status: 403 },
  REQUIRED_PASSWORD: { code: 194, status: 401 },
  IP_ADDRESS_NOT_ALLOWED: { code: 195, status: 400 },
  DNS_ERROR: { code: 198 },
  TOO_MANY_SIMULTANEOUS_QUERIES: { code: 202, status: 503 },
  NO_FREE_CONNECTION: { code: 203 },
  SOCKET_TIMEOUT: { code: 209, status: 503 },
  NETWORK_ERROR: { code: 210, status: 503 },
  TABLE_IS_DROPPED: { code: 218 },
  NO_ZOOKEEPER: { code: 225 },
  QUERY_IS_TOO_LARGE: { code: 229, status: 413 },
  ABORTED: { code: 236 },
  NO_REPLICA_NAME_GIVEN: { code: 237, status: 400 },
  FORMAT_VERSION_TOO_OLD: { code: 238, status: 400 },
  MEMORY_LIMIT_EXCEEDED: { code: 241 },
  TABLE_IS_READ_ONLY: { code: 242 },
  NOT_ENOUGH_SPACE: { code: 243 },
  CORRUPTED_DATA: { code: 246, isData: true },
  TOO_MANY_PARTS: { code: 252 },
  CANNOT_DECOMPRESS: { code: 271, isData: true },
  ALL_CONNECTION_TRIES_FAILED: { code: 279 },
  TOO_FEW_LIVE_REPLICAS: { code: 285 },
  UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE: { code: 286 },
  REPLICA_IS_NOT_IN_QUORUM: { code: 289 },
  TOO_MANY_BYTES: { code: 307 },
  UNKNOWN_STATUS_OF_INSERT: { code: 319 },
  VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE: { code: 321, status: 400, isData: true },
  UNKNOWN_DATABASE_ENGINE: { code: 336, status: 404 },
  UNFINISHED: { code: 341 },
  SUPPORT_IS_DISABLED: { code: 344 },
  CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN: { code: 349, isData: true },
  ZLIB_INFLATE_FAILED: { code: 354, isData: true },
  SESSION_NOT_FOUND: { code: 372, status: 404 },
  SESSION_IS_LOCKED: { code: 373, status: 400 },
  INVALID_SESSION_TIMEOUT: { code: 374, status: 400 },
  CANNOT_PARSE_UUID: { code: 376, isData: true },
  HTTP_LENGTH_REQUIRED: { code: 381, status: 411 },
  NO_COMMON_TYPE: { code: 386 },
  QUERY_IS_PROHIBITED: { code: 392 },
  QUERY_WAS_CANCELLED: { code: 394 },
  FUNCTION_THROW_IF_VALUE_IS_NON_ZERO: { code: 395, isData: true },
  TOO_MANY_ROWS_OR_BYTES: { code: 396 },
  DECIMAL_OVERFLOW: { code: 407, isData: true },
  SYSTEM_ERROR: { code: 425 },
  CANNOT_COMPILE_REGEXP: { code: 427, status: 400 },
  CANNOT_SCHEDULE_TASK: { code: 439, status: 503 },
  CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING: { code: 441, status: 400, isData: true },
  SETTING_CONSTRAINT_VIOLATION: { code: 452 },
  BAD_QUERY_PARAMETER: { code: 457 },
  CANNOT_PARSE_BOOL: { code: 467, isData: true },
  DEADLOCK_AVOIDED: { code: 473 },
  ACCESS_ENTITY_ALREADY_EXISTS: { code: 493 },
  ACCESS_DENIED: { code: 497, status: 403 },
  S3_ERROR: { code: 499 },
  UNKNOWN_ROLE: { code: 511, status: 404 },
  SET_NON_GRANTED_ROLE: { code: 512, status: 403 },
  AUTHENTICATION_FAILED: { code: 516, status: 403 },
  CANNOT_ASSIGN_ALTER: { code: 517 },
  ALTER_OF_COLUMN_IS_FORBIDDEN: { code: 524 },
  ZSTD_DECODER_FAILED: { code: 561, isData: true },
  CANNOT_EXTRACT_TABLE_STRUCTURE: { code: 636, isData: true },
  SNAPPY_UNCOMPRESS_FAILED: { code: 638, isData: true },
  CANNOT_PARSE_IPV4: { code: 675, status: 400, isData: true },
  CANNOT_PARSE_IPV6: { code: 676, status: 400, isData: true },
  UNKNOWN_ELEMENT_OF_ENUM: { code: 691, isData: true },
  SERVER_OVERLOADED: { code: 745 },
  AVRO_EXCEPTION: { code: 748, isData: true },
  KEEPER_EXCEPTION: { code: 999 },
  POCO_EXCEPTION: { code: 1000 },
  STD_EXCEPTION: { code: 1001 },
  UNKNOWN_EXCEPTION: { code: 1002 },
} as const satisfies Readonly<Record<string, ErrorFacts>>;

export type ClickHouseCodeName = keyof typeof errors;

const facts: readonly (readonly [string, ErrorFacts])[] = Object.entries(errors);

export const clickHouseCodes = Object.fromEntries(facts.map(([name, { code }]) => [name, code])) as {
  readonly [Name in ClickHouseCodeName]: (typeof errors)[Name]["code"];
};

/** The numbers of errors given by name. */
export function codesOf(...names: readonly ClickHouseCodeName[]): ReadonlySet<number> {
  return new Set(names.map((name) => clickHouseCodes[name]));
}

/**
 * What the engine lacks at the moment: memory, disk, threads or time. Such an error says nothing of the object that a
 * statement names.
 */
export const scarcityCodes = codesOf(
  "MEMORY_LIMIT_EXCEEDED",
  "NOT_ENOUGH_SPACE",
  "TOO_MANY_SIMULTANEOUS_QUERIES",
  "TIMEOUT_EXCEEDED",
  "QUERY_WAS_CANCELLED",
  "CANNOT_SCHEDULE_TASK",
);

const statuses = new Map(facts.map(([, { code, status = 500 }]) => [code, status]));

/** The HTTP status that a ClickHouse server answers with for an error code; 500 for the codes it does not map. */
export function httpStatusOf(code: number): number {
  return statuses.get(code) ?? 500;
}

const dataErrors = new Set(facts.filter(([, { isData }]) => isData).map(([, { code }]) => code));

/** Readers of other libraries throw exceptions of their own, which the engine reports under one code. */
const foreignReader = /^std::exception\. Code: 1001, type: (?:avro|parquet|arrow|orc)::/;

/** Before any quote, which would begin a text of the data. */
const betweenServers = /^Code: \d+\. DB::Exception: [^'"]*: while receiving packet from [^'"\s]/;

/**
 * True when the connection to another server of the cluster broke. Its error has the code of a truncated file, and
 * says nothing about the data: other shards may have the rows already.
 */
export function isBrokenBetweenServers({ message }: { readonly message: string }): boolean {
  return betweenServers.test(message);
}

/** True when the engine could not read the data: the same bytes will never load. */
export function isDataError({ code, message }: { readonly code: number; readonly message: string }): boolean {
  if (isBrokenBetweenServers({ message })) return false;
  return dataErrors.has(code) || (code === clickHouseCodes.STD_EXCEPTION && foreignReader.test(message));
}
