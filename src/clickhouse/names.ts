/** Names that the engine does not take for what they are meant as. */

/** The server's own databases: they can only be read. */
export const ownDatabases: readonly string[] = ["system", "INFORMATION_SCHEMA", "information_schema"];

/** Nothing that is made in one of these is kept. */
const unusableDatabases: ReadonlySet<string> = new Set([...ownDatabases, "_temporary_and_external_tables"]);

/** An absolute path, a step out of a folder, or a pattern that can become one. */
const path = /^\/.|\.\/|\/\.\.|\{[\s\S]*\/|\/[\s\S]*\{/;

/** True for a name of a table that may be the path of a file outside of the engine's working folder. */
export function isFilePath(name: string): boolean {
  return path.test(name);
}

/** Why no table of a pipe can have the name; undefined when one can. */
export function tableNameProblem(name: string): string | undefined {
  return isFilePath(name) ? "must not be the path of a file: no statement may name such a table" : undefined;
}

/** Why no table of a pipe can be in a database of the name; undefined when one can. */
export function databaseNameProblem(name: string): string | undefined {
  return unusableDatabases.has(name)
    ? "must not be a database of the engine, which can only be read"
    : tableNameProblem(name);
}
