/**
 * Parts of a statement that the engine runs later without a user, and so without grants: life times, keys, indexes,
 * defaults and changes of rows. They may read their own table only.
 */
import type { Facts } from "../rules/facts.ts";
import { isMembership } from "../rules/membership.ts";
import { refuse } from "../rules/refusal.ts";
import { namesTable } from "../rules/table-names.ts";
import { nameOf, type TreeNode, walk } from "./read-tree.ts";

const definitions = new Set([
  ...["Columns_definition", "Storage_definition", "ViewTargets", "Dictionary_definition", "AlterCommand", "Index"],
  ...["CreateIndexQuery", "CreateHypotheticalIndexQuery", "TTLElement"],
]);
const changes = new Set(["UpdateQuery", "DeleteQuery"]);

/**
 * Throws for a query or a table in a definition: the engine would run it without asking for a grant, and could not
 * start without its table. Functions that read another object are left in `facts.readsObject`, for users with grants.
 */
export function judgeOutOfQuery(root: TreeNode, facts: Facts, everywhere?: "definition"): void {
  for (const [node, around] of walk(root)) {
    const place = everywhere ?? placeOf([...around, node]);
    if (place === undefined) continue;
    if (place === "definition" && (node.kind === "Subquery" || node.kind === "SelectQuery")) {
      refuse("A definition cannot hold a query: the engine would run it without a user.");
    }
    if (node.kind !== "Function") continue;
    const name = nameOf(node);
    judgeCallOutOfQuery(name, facts);
    if (!isMembership(name) || node.children[0]?.children[1]?.kind !== "Identifier") continue;
    if (place === "definition") refuseTable();
    facts.readsObject ??= name;
  }
}

/** A call in such a part: of a function that reads another object, or of one whose body may. */
export function judgeCallOutOfQuery(name: string, facts: Facts): void {
  if (namesTable(name)) facts.readsObject ??= name;
  if (facts.unknown.has(name)) facts.unknownOutOfQuery.add(name);
}

export function refuseTable(): never {
  refuse("A definition cannot read another table: IN takes a list there.");
}

/** The engine checks the queries of a change when it is made, and its functions never. */
function placeOf(path: readonly TreeNode[]): "definition" | "change" | "function" | undefined {
  for (const { kind, rest } of path) {
    if (changes.has(kind)) return "change";
    if (kind === "CreateSQLFunctionQuery") return "function";
    if (kind === "AlterCommand" && /^(?:UPDATE|DELETE)$/.test(rest)) return "change";
    if (kind === "AlterCommand" && rest === "MODIFY_QUERY") return undefined;
    if (definitions.has(kind)) return "definition";
  }
  return undefined;
}
