/**
 * The second reading of a statement: the engine's tree of the client's own text. What is allowed is judged there once
 * more, and both readings must have the same calls, queries and settings: what one of them does not see is refused.
 */
import {
  definitionNames,
  engines,
  functions,
  nodeKinds,
  partTypes,
  reservedNames,
  tableFunctions,
} from "../lists/lists.ts";
import { isColumnList, isCombined, isRefusedFunction } from "../rules/calls.ts";
import type { Facts } from "../rules/facts.ts";
import { isMembership } from "../rules/membership.ts";
import { refuse } from "../rules/refusal.ts";
import { refuseFilePath } from "../rules/table-names.ts";
import { isCall, isKeyword, isMark, isName, partners } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import { judgeCallOutOfQuery, judgeOutOfQuery, refuseTable } from "./out-of-query.ts";
import { nameOf, type TreeNode, walk } from "./read-tree.ts";

type Tokens = readonly SqlToken[];

/** Functions that the formatter writes as operators, brackets or keywords, or that stand for a parameter. */
const spelled = new Set(
  (
    "and or not negate plus minus multiply divide modulo concat lambda array tuple arrayElement tupleElement exists " +
    "equals notEquals less greater lessOrEquals greaterOrEquals isNotDistinctFrom isDistinctFrom isNull isNotNull " +
    "like notLike ilike notILike in notIn globalIn globalNotIn " +
    // The engine makes them of a parameter, and of EPHEMERAL.
    "_CAST defaultValueOfTypeName " +
    // A codec without arguments, which the engine does not list.
    "Default"
  ).split(" "),
);

/** Nodes that leave out a part of the statement, which the rules of the text are strict about. */
const hiding = new Set(["ColumnsApplyTransformer", "ShowTables", "ShowColumns", "CheckQuery", "CheckGrantQuery"]);

/** Throws when the tree holds what is not available, or something else than the canonical text. */
export function judgeTree(root: TreeNode, tokens: Tokens, facts: Facts): void {
  const calls = new Map<string, number>();
  let [queries, settings, applied, hides] = [0, 0, 0, false];
  for (const [node, around] of walk(root)) {
    const { kind } = node;
    if (nodeKinds.statements.has(kind) && around.some((outer) => outer.kind !== "Explain")) {
      refuse(`A statement cannot hold another one: ${kind}.`);
    }
    if (hiding.has(kind)) hides = true;
    if (kind === "ColumnsApplyTransformer") applied += 1;
    else if (kind === "SelectQuery" || kind === "ProjectionSelectQuery") queries += 1;
    else if (kind === "Dictionary_settings" || (kind === "Set" && around.at(-1)?.kind !== "Explain")) settings += 1;
    else if (kind === "TableIdentifier") refuseFilePath(nameOf(node));
    else if (kind === "Function") {
      const name = nameOf(node);
      judgeFunction(name, facts);
      if (isCounted(name)) calls.set(name, (calls.get(name) ?? 0) + 1);
    }
  }
  const isHidden = hidesAssignments(root, tokens);
  for (const name of compareCalls(calls, callsOf(tokens), hides || isHidden)) {
    if (isHidden) judgeCallOutOfQuery(name, facts);
  }
  if (applied !== countOf(tokens, isApply)) differ("APPLY");
  if (hides ? queries > countOf(tokens, isSelect) : queries !== countOf(tokens, isSelect)) differ("its queries");
  const unseen = countOf(tokens, isSettings) - settings;
  if (unseen !== 0 && !(unseen === 1 && queries === 0 && mayHideSettings(root))) differ("its settings");
  if (!hides && (facts.kind === "read" || facts.kind === "insert")) keepMemberships(root, facts);
  judgeOutOfQuery(root, facts);
}

/** The tree tells a name after IN, which may be a table, from the names of a list, which are columns. */
function keepMemberships(root: TreeNode, facts: Facts): void {
  facts.memberships.clear();
  for (const [node] of walk(root)) {
    const member = node.children[0]?.children[1];
    if (node.kind !== "Function" || !isMembership(nameOf(node)) || member?.kind !== "Identifier") continue;
    const name = nameOf(member);
    facts.memberships.add(name).add(name.slice(name.lastIndexOf(".") + 1));
  }
}

/** The functions of a query's tree (`EXPLAIN QUERY TREE`), which shows those that are applied to columns too. */
export function judgeQueryTree(text: string, tokens: Tokens, facts: Facts): void {
  const written = new Set(tokens.filter(isName).map(({ value }) => value));
  for (const [, name = ""] of text.matchAll(
    /^ *(?:TABLE_)?FUNCTION id: [0-9]+, (?:table_)?function_name: (.*?)(?:, |$)/gm,
  )) {
    judgeFunction(name, facts);
    if (isCounted(name) && !written.has(name)) differ(`the function ${name}`);
  }
}

/** Throws for a function that the rules of the text would refuse, or have not seen. */
function judgeFunction(name: string, facts: Facts): void {
  const folded = name.toLowerCase();
  if (isRefusedFunction(name)) refuse(`Function ${name} is not available.`);
  const listed = functions.allowed.has(folded) || tableFunctions.allowed.has(folded) || isCombined(folded);
  if (spelled.has(name) || partTypes.has(name)) return;
  const defined = definitionNames.has(folded) || reservedNames.has(folded) || engines.databases.has(name);
  if (!listed && !defined && !facts.unknown.has(name) && !facts.lambdas.has(name)) differ(`the function ${name}`);
}

/** The rest is written in several ways: operators, types and engines without arguments, clauses of a dictionary. */
function isCounted(name: string): boolean {
  return (
    !spelled.has(name) &&
    !partTypes.has(name) &&
    !definitionNames.has(name.toLowerCase()) &&
    !reservedNames.has(name.toLowerCase())
  );
}

function callsOf(tokens: Tokens): Map<string, number> {
  const pairs = partners(tokens);
  const written = new Map<string, number>();
  for (let at = 0; at < tokens.length; at += 1) {
    const { value } = tokens[at] as SqlToken;
    if (!isCall(tokens, at) || !isCounted(value) || value === "COLUMNS") continue;
    if (!isColumnList(tokens, pairs, at)) written.set(value, (written.get(value) ?? 0) + 1);
  }
  return written;
}

/** The calls that the tree has fewer of. */
function compareCalls(
  calls: ReadonlyMap<string, number>,
  written: ReadonlyMap<string, number>,
  hides: boolean,
): string[] {
  const hidden: string[] = [];
  for (const name of new Set([...calls.keys(), ...written.keys()])) {
    const [inTree, inText] = [calls.get(name) ?? 0, written.get(name) ?? 0];
    if (inTree > inText || (inTree < inText && !hides)) differ(`the function ${name}`);
    if (inTree < inText) hidden.push(name);
  }
  return hidden;
}

/**
 * `CREATE TABLE ... SETTINGS max_threads = 1`: the engine takes settings of queries out of the definition of a table,
 * and the tree leaves out a clause that has no others.
 */
function mayHideSettings({ kind, children }: TreeNode): boolean {
  const storage = children.find((child) => child.kind === "Storage_definition");
  return kind === "CreateQuery" && storage !== undefined && !storage.children.some((child) => child.kind === "Set");
}

/** `TTL d GROUP BY a SET b = max(b)`: the tree leaves out the assignments. */
function hidesAssignments(root: TreeNode, tokens: Tokens): boolean {
  const assigns = tokens.some((token, at) => at > 0 && isKeyword(token, "SET") && isMark(tokens[at + 2], "="));
  if (!assigns || ![...walk(root)].some(([{ kind }]) => kind === "TTLElement")) return false;
  if (tokens.some((_, at) => mayReadTable(tokens, at))) refuseTable();
  return true;
}

/** The formatter writes `IN t` as `IN (t)`; the relatives of IN are functions. */
function mayReadTable(tokens: Tokens, at: number): boolean {
  const token = tokens[at];
  if (isKeyword(token, "IN")) return isName(tokens[isMark(tokens[at + 1], "(") ? at + 2 : at + 1]);
  return isCall(tokens, at) && isMembership((token as SqlToken).value);
}

function countOf(tokens: Tokens, is: (tokens: Tokens, at: number) => boolean): number {
  return tokens.reduce((count, _, at) => count + (is(tokens, at) ? 1 : 0), 0);
}

function isSelect(tokens: Tokens, at: number): boolean {
  return isKeyword(tokens[at], "SELECT");
}

function isApply(tokens: Tokens, at: number): boolean {
  if (!isKeyword(tokens[at], "APPLY") || isKeyword(tokens[at - 1], "AS") || isMark(tokens[at - 1], ".")) return false;
  const command = isKeyword(tokens[at + 2], "MASK") || isKeyword(tokens[at + 1], "PATCHES");
  return !(command && isMark(tokens[at - 1], "("));
}

/** `SETTINGS a = 1`, `SET a = 1`, `MODIFY SETTING a = 1`. */
function isSettings(tokens: Tokens, at: number): boolean {
  const list = isName(tokens[at + 1]) && isMark(tokens[at + 2], "=");
  if (isKeyword(tokens[at], "SETTINGS")) return list || isMark(tokens[at + 1], "(");
  if (isKeyword(tokens[at], "SETTING")) return isKeyword(tokens[at - 1], "MODIFY");
  return at === 0 && isKeyword(tokens[at], "SET") && list;
}

function differ(what: string): never {
  refuse(`The guard of this interface reads the statement otherwise than the engine: ${what}.`);
}
