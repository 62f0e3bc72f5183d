/** What errors of the driver and the server mean for a pipe. */
import { AppError, type ErrorCode, memberError } from "../../../lib/errors.ts";
import { type ConnectionStage, connectionTrouble } from "../../../outgoing/connection-failure.ts";
import type { RelationalDbConfig } from "../declaration/kind.ts";
import { portOf } from "./defaults.ts";

/**
 * What a failed login means for a pipe, in a sentence that names the member of the configuration and the remedy.
 * Outages are SOURCE_UNREACHABLE, which is retryable; an AppError stays as it is.
 */
export function loginError(error: unknown, config: RelationalDbConfig): AppError {
  if (error instanceof AppError) return error;
  const { code = "", message = "" } = (error ?? {}) as { code?: string; message?: string };
  const found =
    networkProblem(error, config) ?? tlsProblem(code, message, config) ?? loginProblem(code, message, config);
  return found === undefined ? postgresSourceError(error) : problem(...found, error);
}

/** What an error of the driver or the server means once a connection stands. */
export function postgresSourceError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code = "", message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  // SQLSTATE codes have five characters.
  const told = /^[0-9A-Z]{5}$/.test(code);
  const sentence = told ? `Postgres says: ${message} (${code})` : `the connection to Postgres failed: ${message}`;
  if (!told || isOutage(code, message)) return new AppError("SOURCE_UNREACHABLE", sentence, { cause: error });
  if (/^(28|42501)/.test(code)) return problem("SOURCE_UNAUTHORIZED", "credentials", sentence, error);
  if (code === "42704" && /^publication /.test(message)) return invalid("settings.publicationName", sentence, error);
  if (code === "42704" && /^replication slot /.test(message)) {
    return invalid("settings.replicationSlotName", sentence, error);
  }
  return new AppError("SOURCE_INVALID", sentence, { cause: error });
}

/** An error of the driver or the server as `postgresSourceError` says it; others are not of the source. */
export function ofSource(error: unknown): unknown {
  // Errors of `pg` carry a code of five characters, those of its sockets an errno.
  const isOfSource = !(error instanceof AppError) && typeof (error as { code?: unknown }).code === "string";
  return isOfSource ? postgresSourceError(error) : error;
}

type Problem = readonly [code: ErrorCode, member: string, message: string];

/** The members that name what failed. TLS has rules of its own. */
const memberOf: { readonly [S in ConnectionStage]?: string } = {
  name: "host",
  port: "port",
  answer: "host",
  closed: "port",
};

function networkProblem(error: unknown, config: RelationalDbConfig): Problem | undefined {
  const trouble = connectionTrouble(error, `${config.host}:${portOf(config)}`);
  const member = trouble && memberOf[trouble.stage];
  if (trouble === undefined || member === undefined) return undefined;
  const more = trouble.stage === "port" ? ", and listen_addresses of the server" : "";
  return ["SOURCE_UNREACHABLE", member, `${trouble.message}${more}`];
}

const untrusted = [
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
];

function tlsProblem(code: string, message: string, config: RelationalDbConfig): Problem | undefined {
  if (/does not support SSL/.test(message)) {
    return [
      "SOURCE_INVALID",
      "disableTls",
      "the server does not speak TLS; turn on ssl there, or set disableTls: true in a network you trust",
    ];
  }
  if (untrusted.includes(code)) {
    const remedy = "give the authority that signed it in caCertificate, or set skipCertVerification: true";
    return [
      "SOURCE_INVALID",
      "caCertificate",
      `the server's certificate is signed by nobody who is trusted here; ${remedy}`,
    ];
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const name = config.tlsHost ?? config.host;
    return [
      "SOURCE_INVALID",
      "tlsHost",
      `the server's certificate is not for "${name}"; give the name it is for in tlsHost`,
    ];
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    const when = code === "CERT_HAS_EXPIRED" ? "has expired" : "is not valid yet";
    return [
      "SOURCE_INVALID",
      "skipCertVerification",
      `the server's certificate ${when}; renew it, or set skipCertVerification: true`,
    ];
  }
  if (/^ERR_SSL|^EPROTO|^ERR_TLS|^CERT_/.test(code) || /establishing an SSL/.test(message)) {
    return ["SOURCE_UNREACHABLE", "disableTls", `TLS with the server failed: ${message}`];
  }
  return undefined;
}

function loginProblem(code: string, message: string, config: RelationalDbConfig): Problem | undefined {
  const user = config.credentials?.username ?? "";
  if (code === "28P01" || /^SASL:.*password/i.test(message)) {
    return ["SOURCE_UNAUTHORIZED", "credentials", `user "${user}" or its password is refused`];
  }
  if (code === "28000") {
    const remedy = /no encryption/.test(message) ? "it takes TLS only: remove disableTls" : "allow it in pg_hba.conf";
    return [
      "SOURCE_UNAUTHORIZED",
      "credentials",
      `the server does not let user "${user}" in from here (${message}); ${remedy}`,
    ];
  }
  if (code === "3D000") return ["SOURCE_INVALID", "database", `database "${config.database}" does not exist`];
  if (code === "42501" && /permission denied for database/.test(message)) {
    return [
      "SOURCE_UNAUTHORIZED",
      "database",
      `user "${user}" may not connect; GRANT CONNECT ON DATABASE "${config.database}" to it`,
    ];
  }
  if (code === "53300") {
    return ["SOURCE_UNREACHABLE", "host", `the server has no connection left (${message}); raise its limits`];
  }
  return undefined;
}

/**
 * Class 08: connection; 57: shutdown, crash, start, cancel; 53: resources; 58: the server's system; 40: conflicts;
 * 55006 and 55P03: in use, locked; XX: internal. And broken sockets.
 */
function isOutage(code: string, message: string): boolean {
  if (/^(08|57|53|58|40|55006|55P03|XX)/.test(code) || /^E[A-Z]+$/.test(code)) return true;
  return /terminated|Connection ended|not queryable|closed/i.test(message);
}

/** A member of the configuration that cannot be used. */
export function invalid(member: string, message: string, cause?: unknown): AppError {
  return problem("SOURCE_INVALID", member, message, cause);
}

function problem(code: ErrorCode, member: string, message: string, cause?: unknown): AppError {
  return memberError(code, `source.relationalDb.${member}`, message, cause);
}
