/** Why the server of an external service cannot be used, from the errors of a client. */
import { type ClickHouseAddress, ClickHouseError } from "../../clickhouse/client.ts";
import { clickHouseCodes, codesOf } from "../../clickhouse/error-codes.ts";
import { AppError } from "../../lib/errors.ts";
import { connectionFailure } from "../../outgoing/connection-failure.ts";
import { addressRefusalOf } from "../../outgoing/dialer.ts";
import { urlOf } from "./addresses.ts";

export type ServerTrouble = {
  readonly code: "CONNECTION_UNREACHABLE" | "CONNECTION_UNAUTHORIZED" | "CONNECTION_INVALID" | "SOURCE_ADDRESS_REFUSED";
  /** Member of the connection. */
  readonly path: string;
  /** Clause with the remedy, without a final period. */
  readonly message: string;
};

const loginCodes = codesOf("UNKNOWN_USER", "WRONG_PASSWORD", "REQUIRED_PASSWORD", "AUTHENTICATION_FAILED");

/** `index` is the place of the address in the connection's `urls`. Never contains the password. */
export function troubleOf(error: unknown, address: ClickHouseAddress, index: number): ServerTrouble {
  const url = urlOf(address);
  const path = `connection.urls[${index}]`;
  const refusal = addressRefusalOf(error);
  if (refusal !== undefined) {
    return { code: "SOURCE_ADDRESS_REFUSED", path, message: refusal.issues?.[0]?.message ?? refusal.message };
  }
  if (error instanceof ClickHouseError) return refusedBy(error, address, path);
  if (error instanceof AppError) return { code: "CONNECTION_UNREACHABLE", path, message: withoutPeriod(error.message) };
  const failure = connectionFailure(error, url) ?? `no answer from ${url} (${wordOf(error)})`;
  return { code: "CONNECTION_UNREACHABLE", path, message: failure };
}

function refusedBy(error: ClickHouseError, address: ClickHouseAddress, path: string): ServerTrouble {
  const url = urlOf(address);
  if (loginCodes.has(error.code)) {
    const message = `${url} refuses the user ${address.user} with this password; check connection.username and connection.password`;
    return { code: "CONNECTION_UNAUTHORIZED", path: "connection.password", message };
  }
  if (error.code === clickHouseCodes.IP_ADDRESS_NOT_ALLOWED) {
    const message = `${url} does not admit the user ${address.user} from this machine's address; change it with ALTER USER ... HOST`;
    return { code: "CONNECTION_UNAUTHORIZED", path: "connection.username", message };
  }
  if (error.code === clickHouseCodes.UNKNOWN_DATABASE) {
    const message = `${url} has no database ${address.database}; create it, or name another one`;
    return { code: "CONNECTION_INVALID", path: "connection.database", message };
  }
  if (error.code === 0) {
    const message = `${url} answers with status ${error.httpStatus} and not like a ClickHouse server; check host and port of its HTTP interface`;
    return { code: "CONNECTION_INVALID", path, message };
  }
  return { code: "CONNECTION_INVALID", path, message: `${url} answers: ${sentenceOf(error.message)}` };
}

/** The server's own sentence, without our statement and its version. */
function sentenceOf(message: string): string {
  return withoutPeriod(
    message.replace(/^Code: \d+\. DB::Exception: /, "").replace(/\s*\(version [^)]*\)\s*$/, ""),
  ).slice(0, 500);
}

function withoutPeriod(text: string): string {
  return text.replace(/\.$/, "");
}

function wordOf(error: unknown): string {
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown };
  return String(code ?? message ?? name);
}
