/** The guard's refusals: one sentence that names what is not available, as an engine error. */
import { clickHouseException } from "../../../clickhouse/exception.ts";

/** Throws ACCESS_DENIED. */
export function refuse(sentence: string): never {
  throw clickHouseException("ACCESS_DENIED", sentence);
}

const accounts =
  /^(?:(?:CREATE|ALTER|DROP|RENAME) (?:USER|ROLE|ROW POLICY|QUOTA|SETTINGS PROFILE)|GRANT|REVOKE|SET DEFAULT ROLE)\b/;

/** Throws ACCESS_DENIED for a kind of statement, named by its first words. */
export function refuseKind(words: string): never {
  const hint = accounts.test(words) ? "; docs/sql-users.md lists the statements about users and roles" : "";
  refuse(`${words} is not available over this interface${hint}.`);
}

/** Throws the engine's error for an unknown function. */
export function unknownFunction(name: string): never {
  throw clickHouseException("UNKNOWN_FUNCTION", `Function with name \`${name}\` does not exist.`);
}

/** Throws the engine's error for an unknown setting. */
export function unknownSetting(name: string): never {
  throw clickHouseException("UNKNOWN_SETTING", `Unknown setting '${name}'`);
}

/** Throws the engine's error for a setting that may not be changed. */
export function fixedSetting(name: string): never {
  throw clickHouseException("SETTING_CONSTRAINT_VIOLATION", `Setting ${name} should not be changed.`);
}

/** Throws READONLY. */
export function readOnly(sentence: string): never {
  throw clickHouseException("READONLY", sentence);
}
