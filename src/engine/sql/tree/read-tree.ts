/**
 * Reads the tree of a statement that the engine prints (`EXPLAIN AST`): one node a line, indented by its depth, with
 * the number of its children. The engine prints names as they are, so a name with a line break could add a line: such
 * names are refused, and each number of children is compared with the lines below.
 */
import { nodeKinds } from "../lists/lists.ts";
import { UnreadableText } from "../text/tokens.ts";

export type TreeNode = {
  readonly kind: string;
  /** What follows the kind: the name of a function or table, with an alias, or the command of an ALTER. */
  readonly rest: string;
  readonly children: readonly TreeNode[];
};

const line = /^( *)(.*?)(?: \(children ([0-9]+)\))?$/;

/** The root of the tree. Throws `UnreadableText` for a node of an unknown kind, or a tree that is not whole. */
export function readTree(text: string): TreeNode {
  const lines = text.replace(/\n$/, "").split("\n");
  let at = 0;
  const readNode = (depth: number): TreeNode => {
    const [, indent = "", content = "", count = "0"] = line.exec(lines[at] ?? "") ?? [];
    if (lines[at] === undefined || indent.length !== depth) throw new UnreadableText("its tree is not whole", at);
    const kind = kindOf(content);
    at += 1;
    const children: TreeNode[] = [];
    for (let left = Number(count); left > 0; left -= 1) children.push(readNode(depth + 1));
    return { kind, rest: content.slice(kind.length).trim(), children };
  };
  const root = readNode(0);
  if (at !== lines.length) throw new UnreadableText("its tree is not whole", at);
  return root;
}

/** Some kinds are several words; the name of a table follows `WatchQuery_`, and lists of users have a kind each. */
function kindOf(content: string): string {
  if (content.startsWith("WatchQuery_")) return "WatchQuery";
  if (/^SHOW [A-Z ]+ query$/.test(content)) return "SHOW_query";
  for (let words = 1, end = 0; words <= 3 && end >= 0; words += 1) {
    end = content.indexOf(" ", end + 1);
    const kind = content.slice(0, end < 0 ? undefined : end).replaceAll(" ", "_");
    if (nodeKinds.all.has(kind)) return kind;
  }
  throw new UnreadableText(`it has a part that is not known here: ${content.slice(0, 40)}`, 0);
}

/** All nodes below and including this one, with the nodes around each. */
export function* walk(node: TreeNode, around: readonly TreeNode[] = []): Generator<[TreeNode, readonly TreeNode[]]> {
  yield [node, around];
  const inner = [...around, node];
  for (const child of node.children) yield* walk(child, inner);
}

/** The name of a function node without its alias. */
export function nameOf({ rest }: TreeNode): string {
  const alias = rest.indexOf(" (alias ");
  return alias < 0 ? rest : rest.slice(0, alias);
}
