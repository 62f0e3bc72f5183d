/** The guard as the query service uses it: for HTTP requests, with this host's engine. */
import { buffer } from "node:stream/consumers";
import { type ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { parseException } from "../../clickhouse/exception.ts";
import type { Judge } from "../http/query-service.ts";
import type { Guard } from "./guard.ts";
import { type GuardQuery, guardQuerySettings } from "./guard-query.ts";
import { maxStatementBytes } from "./rules/facts.ts";
import { refuse } from "./rules/refusal.ts";
import { insertHeads } from "./text/insert-data.ts";
import { structureProblem } from "./text/structure.ts";

/** URL parameters that are not settings. */
const notSettings = new Set(
  (
    "query query_id database default_format session_id session_timeout session_check session_mode close_session " +
    "quota_key role compress decompress buffer_size wait_end_of_query stacktrace client_protocol_version " +
    // The query service removes these, and sets them when the guard allows it.
    "input_format_values_interpret_expressions input_format_values_deduce_templates_of_expressions"
  ).split(" "),
);

/** The guard's interface for the query service. */
export function statementJudge(guard: Guard): Judge {
  return {
    hasData,
    judge: async ({ text, whole, params, settings, readonly, restricted, get }) => {
      const judged = settings.filter(([name, value]) => !notSettings.has(name) && !isExternalTable(name, value));
      const { expressions, mayBeExpressions, head, kind, takesDisk, access } = await guard.judge({
        text,
        complete: whole,
        params,
        settings: judged,
        readonly,
        restricted,
        get,
      });
      const valuesFrom = mayBeExpressions ? head?.dataStart : undefined;
      return { valuesMayCompute: expressions, valuesFrom, takesDisk, access, kind, head };
    },
  };
}

/** How the guard queries an engine; `client` is authenticated as the internal user. */
export function guardQueryOf(client: ClickHouseClient): GuardQuery {
  return async (statement, params = {}) => {
    try {
      const body = Buffer.from(statement, "latin1");
      const answer = await client.stream("", { body, params, settings: guardQuerySettings });
      return (await buffer(answer)).toString("latin1");
    } catch (error) {
      throw error instanceof ClickHouseError ? parseException(error.message) : error;
    }
  };
}

/**
 * `t_structure`, `t_types` and `t_format` describe an external table of a form. Throws for a structure with
 * expressions.
 */
function isExternalTable(name: string, value: string): boolean {
  const part = /^[^_].*_(structure|types|format)$/.exec(name)?.[1];
  if (part === undefined || name.startsWith("input_") || name.startsWith("output_")) return false;
  // A number describes no table: this is a setting such as `allow_suspicious_low_cardinality_types=1`.
  if (/^[0-9]+$/.test(value)) return false;
  if (part === "format") {
    if (/^values$/i.test(value)) refuse(`${name} cannot be Values.`);
    return true;
  }
  const columns = part === "types" ? value.replace(/(^|,)\s*(?=[A-Za-z])/g, "$1 c ") : value;
  const problem = structureProblem(columns);
  if (problem !== undefined) refuse(`${name} ${problem}.`);
  return true;
}

/** True when the text is an INSERT and more bytes follow its head; they may be incomplete. */
function hasData(text: Buffer): boolean {
  const beginning = text.toString("latin1", 0, maxStatementBytes);
  for (const head of insertHeads(beginning)) {
    if (head.headEnd === beginning.length) return false;
    return !head.selects || /\binput\s*\(/i.test(beginning.slice(0, head.headEnd));
  }
  return false;
}
