/** Writes values and names into ClickHouse SQL. Everything but our own constants must pass through these functions. */
import { ownDatabases } from "./names.ts";

/** A string literal. Escapes what the engine's lexer treats specially, so no content can end the literal. */
export function literal(value: string): string {
  let out = "'";
  for (const char of value) {
    if (char === "\\" || char === "'") out += `\\${char}`;
    else if (char === "\0") out += "\\0";
    else if (char === "\n") out += "\\n";
    else if (char === "\r") out += "\\r";
    else if (char === "\t") out += "\\t";
    else out += char;
  }
  return `${out}'`;
}

/** A quoted identifier. */
export function identifier(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

/** `database`.`table`, both quoted. */
export function tableName(database: string, table: string): string {
  return `${identifier(database)}.${identifier(table)}`;
}

/** The value of a bound `{name:String}` parameter in the engine's escaped text form. */
export function parameterText(value: string): string {
  const escapes: Readonly<Record<string, string>> = {
    "\\": "\\\\",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\0": "\\0",
  };
  return value.replaceAll(/[\\\t\n\r\0]/g, (char) => escapes[char] as string);
}

/** The server's own databases, as a list of SQL. */
export const ownDatabaseList = `(${ownDatabases.map(literal).join(", ")})`;
