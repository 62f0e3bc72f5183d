/**
 * The guard: decides whether a statement may run, before it runs. It judges the engine's canonical text of exactly the
 * bytes that will be run. Every rule is an allow-list: what a new engine adds is refused until it is added to a list
 * (`lists/`).
 */
import type { AccessChange } from "../../clickhouse/access-change.ts";
import { clickHouseException } from "../../clickhouse/exception.ts";
import {
  canonicalText,
  explained,
  functionBodies,
  type GuardQuery,
  isSyntaxError,
  madeByUsers,
  namesOfSets,
} from "./guard-query.ts";
import { plainFacts } from "./plain-statement.ts";
import { type OwnText, readable, readOwnStatement, readStatement, refuseBreakingQuotes } from "./read-statement.ts";
import { refuseCostly } from "./rules/costs.ts";
import { emptyFacts, type Facts, maxStatementBytes, type StatementKind } from "./rules/facts.ts";
import { judgeParameters, unescapeParameter } from "./rules/parameters.ts";
import { readOnly, refuse, unknownFunction } from "./rules/refusal.ts";
import { judgeSetting } from "./rules/settings.ts";
import { refuseFilePath } from "./rules/table-names.ts";
import { type InsertHead, insertHeads } from "./text/insert-data.ts";
import { mayHideAlias } from "./text/quotes.ts";
import { isKeyword } from "./text/scan.ts";
import type { SqlToken } from "./text/tokens.ts";
import { maxSearchedBytes, mayHoldExpressions } from "./text/values-data.ts";
import { judgeQueryTree, judgeTree } from "./tree/judge-tree.ts";
import { judgeOutOfQuery } from "./tree/out-of-query.ts";
import { placeholders } from "./tree/placeholders.ts";
import { readTree } from "./tree/read-tree.ts";
import { TextCache } from "./verdict-cache.ts";

export type GuardRequest = {
  /** The statement, followed by the data of an INSERT: all of it, or the first 256 KiB and one byte. */
  readonly text: Buffer;
  /** True when `text` is complete. */
  readonly complete: boolean;
  /** Bound parameters, without the prefix `param_`, not yet unescaped. */
  readonly params: readonly (readonly [string, string])[];
  /** Settings of the request. */
  readonly settings: readonly (readonly [string, string])[];
  /** True for a read-only user. */
  readonly readonly: boolean;
  /** True for a user who has only what was granted. */
  readonly restricted?: boolean;
  /** True for a GET request, which may only read. */
  readonly get: boolean;
};

export type StatementVerdict = {
  readonly kind: StatementKind;
  /** True when the statement needs more disk. */
  readonly takesDisk: boolean;
  /** Where an INSERT's data begins; undefined when there is none or the place is unknown. */
  readonly head: InsertHead | undefined;
  /** True when VALUES data may be parsed with expressions in it (`input_format_values_interpret_expressions`). */
  readonly expressions: boolean;
  /** True when that depends on the data of VALUES that has not arrived (`text/values-data.ts`). */
  readonly mayBeExpressions: boolean;
  /** What a statement about users, roles or grants changes; such a statement is not run by the engine. */
  readonly access: AccessChange | undefined;
  /** Addresses of object storage in the statement, for the policy of outgoing connections. */
  readonly addresses: readonly string[];
};

/** Deeper nesting of statements inside texts is refused. */
const maxNesting = 4;

export class Guard {
  readonly #guardQuery: GuardQuery;
  readonly #facts = new TextCache<Facts>(10_000, 16 * 1_048_576);
  readonly #forbidden = new Set<string>();

  constructor(options: { readonly guardQuery: GuardQuery }) {
    this.#guardQuery = options.guardQuery;
  }

  /** Resolves when the statement may run. Otherwise rejects with the `ClickHouseException` for the client. */
  async judge(question: GuardRequest): Promise<StatementVerdict> {
    const ofSettings = await this.#judgeSettings(question);
    const text = question.text.toString("latin1", 0, maxStatementBytes + 1);
    const { facts, head } = await this.#read(text, question.complete);
    judgeParameters(facts, question.params);
    judgeNamesOfTables(facts);
    if (facts.attached !== undefined && this.#forbidden.has(facts.attached)) {
      refuse(`The definition of ${facts.attached} holds what is not available.`);
    }
    if (question.restricted === true && facts.readsObject !== undefined) {
      refuse(
        `Users with grants can use ${facts.readsObject} in queries only: in a definition or a change of rows, the engine does not ask for the grant.`,
      );
    }
    if (question.restricted === true && facts.showsColumns !== undefined) {
      refuse(
        `Users with grants cannot use ${facts.showsColumns}: the engine shows columns without asking for the grant.`,
      );
    }
    if (question.restricted === true) await this.#judgeMemberships([facts, ofSettings], question.params);
    if ((question.readonly || question.get) && !facts.readOnly) {
      readOnly(question.readonly ? "This user can only read." : "A request by GET can only read: use POST.");
    }
    return {
      kind: facts.kind,
      takesDisk: facts.takesDisk,
      head,
      expressions: question.complete && isValues(head) && mayRunExpressions(question.text, head),
      mayBeExpressions: !question.complete && isValues(head),
      access: facts.access?.(question.params),
      addresses: [...facts.addresses],
    };
  }

  /**
   * Judges a definition that the engine has stored, in the canonical text of its system tables. Rejects with what is
   * wrong with it.
   */
  async judgeStored(canonical: string): Promise<void> {
    const { facts, tokens } = readOwnStatement(canonical, { text: canonical, quotes: [] });
    await this.#judgeUnknown(facts.unknown);
    await this.#judgeNested(facts, 0);
    judgeParameters(facts, []);
    if (!mayReadOutOfQuery(tokens)) return;
    const tree = await explained(this.#guardQuery, "AST", canonical, placeholders(tokens)).catch(() => undefined);
    // What the engine has stored and cannot read again is judged by its text alone.
    if (tree !== undefined) readable(() => judgeOutOfQuery(readTree(tree), facts));
  }

  /** Judges a whole statement (latin1) that is not run now. Rejects with what is wrong with it. */
  async judgeText(text: string): Promise<void> {
    judgeParameters(await this.#factsOf(text, 0), []);
  }

  /** Refuses from now on to ATTACH a table or database of this name. */
  forbidAttach(name: string): void {
    this.#forbidden.add(Buffer.from(name).toString("latin1"));
  }

  /** Resolves to the facts of the texts in them. */
  async #judgeSettings({ settings }: GuardRequest): Promise<Facts> {
    const facts = emptyFacts("set", true);
    if (settings.length === 0) return facts;
    for (const [name, value] of settings) judgeSetting(name, Buffer.from(value).toString("latin1"), facts);
    await this.#judgeNested(facts, 0);
    return facts;
  }

  async #read(text: string, complete: boolean): Promise<{ facts: Facts; head?: InsertHead }> {
    for (const head of insertHeads(text)) {
      const facts = await this.#readHead(text, head);
      if (facts !== undefined) return { facts, head };
    }
    if (!complete || text.length > maxStatementBytes) {
      throw clickHouseException("QUERY_IS_TOO_LARGE", `A statement can have ${maxStatementBytes} bytes.`);
    }
    return { facts: await this.#factsOf(text, 0) };
  }

  /** The facts of an INSERT whose data begins after this head; undefined when the engine reads it differently. */
  async #readHead(text: string, head: InsertHead): Promise<Facts | undefined> {
    const beginning = text.slice(0, head.headEnd);
    try {
      const facts = await this.#factsOf(beginning, 0);
      if (facts.kind !== "insert" || facts.format?.toLowerCase() !== head.format.toLowerCase()) return undefined;
      if (facts.selects === undefined) return facts;
      if (facts.selects === "tables") return undefined;
      // A query may continue after its apparent end, so the engine finds the end of the whole text.
      refuseCostly(text);
      const whole = await canonicalText(this.#guardQuery, text.slice(0, maxStatementBytes));
      return whole.text === (await canonicalText(this.#guardQuery, beginning)).text ? facts : undefined;
    } catch (error) {
      if (isSyntaxError(error)) return undefined;
      throw error;
    }
  }

  async #factsOf(text: string, depth: number): Promise<Facts> {
    const known = this.#facts.get(text);
    if (known !== undefined) return known;
    refuseCostly(text);
    const facts = plainFacts(text) ?? (await this.#readText(text));
    if (facts.bareWords && mayHideAlias(text)) {
      refuse("A table function that is given a word and no text cannot stand beside a parameter of type Identifier.");
    }
    await this.#judgeUnknown(facts.unknown);
    await this.#judgeNested(facts, depth);
    // The text may hold a password, and functions of users may change.
    if (facts.access === undefined && facts.unknownOutOfQuery.size === 0) this.#facts.set(text, facts);
    return facts;
  }

  /** Two readings of a text, which must agree: the engine's canonical text, and its tree. */
  async #readText(text: string): Promise<Facts> {
    const canonical = await canonicalText(this.#guardQuery, text);
    const { facts, tokens } = readOwnStatement(canonical.text, { text, quotes: canonical.quotes });
    // Every word of a statement about users is understood, and its text may hold a password.
    if (facts.access === undefined) await this.#readTree({ text, quotes: canonical.quotes }, tokens, facts);
    return facts;
  }

  async #readTree(own: OwnText, tokens: readonly SqlToken[], facts: Facts): Promise<void> {
    const { text } = own;
    const params = placeholders(tokens);
    const tree = await explained(this.#guardQuery, "AST", text, params);
    readable(() => judgeTree(readTree(tree), tokens, facts));
    if (tree.includes("ColumnsApplyTransformer")) refuseBreakingQuotes(own);
    // The functions that are applied to columns are in this tree only.
    if (facts.kind === "read" && tree.includes("ColumnsApplyTransformer") && tree.startsWith("Select")) {
      judgeQueryTree(await explained(this.#guardQuery, "QUERY TREE run_passes = 0", text, params), tokens, facts);
    }
    await this.#judgeBodies(facts);
  }

  /** Functions of users in a definition are what their bodies are. */
  async #judgeBodies(facts: Facts): Promise<void> {
    let names: ReadonlySet<string> = facts.unknownOutOfQuery;
    for (let depth = 0; names.size > 0; depth += 1) {
      if (depth > maxNesting) refuse("The functions of the definition call too many others.");
      const inner = { ...facts, unknownOutOfQuery: new Set<string>() };
      for (const body of await functionBodies(this.#guardQuery, names)) {
        for (const name of readStatement(body).unknown) inner.unknown.add(name);
        const tree = await explained(this.#guardQuery, "AST", body, {});
        readable(() => judgeOutOfQuery(readTree(tree), inner, "definition"));
      }
      facts.readsObject ??= inner.readsObject;
      names = inner.unknownOutOfQuery;
    }
  }

  /** Names on no list are user-defined functions and views, whose bodies were judged at creation. */
  async #judgeUnknown(names: ReadonlySet<string>): Promise<void> {
    if (names.size === 0) return;
    const made = await madeByUsers(this.#guardQuery, names);
    for (const name of names) if (!made.has(name)) unknownFunction(name);
  }

  /** The engine asks for no grant on a table of the engine Set. */
  async #judgeMemberships(all: readonly Facts[], params: GuardRequest["params"]): Promise<void> {
    const bound = params.filter(([name]) => all.some(({ memberParameters }) => memberParameters.has(name)));
    const names = [
      ...all.flatMap(({ memberships }) => [...memberships]),
      ...bound.flatMap(([, value]) => {
        const name = unescapeParameter(Buffer.from(value).toString("latin1"));
        return [name, name.slice(name.lastIndexOf(".") + 1)];
      }),
    ];
    if (names.length === 0) return;
    const [set] = await namesOfSets(this.#guardQuery, names);
    if (set !== undefined) refuse(`Users with grants cannot read ${set}, a table of the engine Set.`);
  }

  async #judgeNested({ nested, memberships }: Facts, depth: number): Promise<void> {
    for (const text of nested) {
      if (depth >= maxNesting || text.length > maxStatementBytes)
        refuse("The statement holds too many texts in texts.");
      const facts = await this.#factsOf(text, depth + 1);
      if (facts.kind !== "read") refuse("A text inside the statement must be a query.");
      judgeParameters(facts, []);
      judgeNamesOfTables(facts);
      for (const name of facts.memberships) memberships.add(name);
      if (facts.queriedDictionary !== undefined) refuseBareDictionary(facts.queriedDictionary);
      if (facts.identifiers.size > 0 || facts.tableParameters.size > 0)
        refuse("A text inside the statement cannot hold parameters in arguments.");
    }
  }
}

/**
 * Names in the client's own statement. Stored definitions may have them: the engine has resolved their tables, and a
 * column may have any name.
 */
function judgeNamesOfTables(facts: Facts): void {
  if (facts.filePath !== undefined) refuseFilePath(facts.filePath);
  if (facts.bareDictionary !== undefined) refuseBareDictionary(facts.bareDictionary);
}

/** Tables and materialized views; another view is its query, and a dictionary holds it as a text. */
function mayReadOutOfQuery(tokens: readonly SqlToken[]): boolean {
  if (isKeyword(tokens[1], "VIEW") || isKeyword(tokens[1], "DICTIONARY")) return false;
  return tokens.some((token) => isKeyword(token, "SELECT") || isKeyword(token, "IN"));
}

function refuseBareDictionary(name: string): never {
  refuse(`Write the name of the dictionary in ${name} in quotes: without them it may be a column.`);
}

function isValues(head: InsertHead | undefined): head is InsertHead {
  return /^values$/i.test(head?.format ?? "");
}

function mayRunExpressions(text: Buffer, { dataStart }: InsertHead): boolean {
  return text.length - dataStart <= maxSearchedBytes && mayHoldExpressions(text.toString("latin1", dataStart));
}
