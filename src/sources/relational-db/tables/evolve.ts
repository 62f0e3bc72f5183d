/** A table whose columns have changed at the source: what has to be done at the destination, or why it cannot be. */
import { identifier, literal, tableName } from "../../../clickhouse/sql.ts";
import { onCluster } from "../../../clickhouse/table-form.ts";
import type { SourceColumn, SourceTable } from "../declaration/durable.ts";
import type { Relation, RelationColumn } from "../protocol/pgoutput.ts";
import { type TableState, tableProblem } from "./table-states.ts";
import type { TablePlan } from "./tables.ts";
import { type ColumnPlan, columnPlan } from "./types.ts";

export type Evolution = {
  /** Statements on the destination. May be repeated. */
  readonly statements: readonly string[];
  readonly source: SourceTable;
};

/** True when rows of the relation go into the table as it is: dropped columns stay, and are empty from then on. */
export function fits(state: TableState, relation: Relation): boolean {
  if (state.hasRelaxed || tableProblem(state, relation) !== undefined) return false;
  if (keyProblem(state.plan, relation) !== undefined) return false;
  if (!isInOrder(relation, state.source.columns)) return false;
  return relation.columns.every((column) => {
    if (state.plan.mapping.excludedColumns?.includes(column.name)) return true;
    const known = state.source.columns.find((each) => each.name === column.name);
    return known !== undefined && known.typeOid === column.typeOid && known.typmod === column.typmod;
  });
}

/** The stream has columns in the order of their numbers, and sends none: names that were exchanged stand elsewhere. */
function isInOrder(relation: Relation, columns: readonly SourceColumn[]): boolean {
  const numbers = relation.columns.flatMap(({ name }) => columns.find((one) => one.name === name)?.attnum ?? []);
  return numbers.every((number, at) => number >= (numbers[at - 1] ?? 0));
}

class Unfollowable extends Error {}

/**
 * From what the stream says now, and the catalog, which may be further than the stream. The answer is a text when the
 * change cannot be followed without copying the table anew.
 */
export function evolve(
  state: TableState,
  relation: Relation,
  now: SourceTable | undefined,
  nullable: boolean,
): Evolution | string {
  const problem = tableProblem(state, relation) ?? keyProblem(state.plan, relation);
  if (problem !== undefined) return problem;
  const changes = new Changes(state.plan, state.source, relation, now, nullable);
  try {
    for (const column of relation.columns) {
      if (!state.plan.mapping.excludedColumns?.includes(column.name)) changes.look(column);
    }
    // Exchanged back before it was followed: what came in between stands under the wrong names.
    if (!isInOrder(relation, changes.columns)) return "names of its columns have been exchanged";
    return { statements: changes.statements, source: { ...state.source, columns: changes.columns } };
  } catch (error) {
    if (error instanceof Unfollowable) return error.message;
    throw error;
  }
}

function keyProblem(plan: TablePlan, relation: Relation): string | undefined {
  if (plan.engine !== "ReplacingMergeTree") return undefined;
  const sent = relation.columns.filter((column) => column.key).map((column) => column.name);
  const unsent = plan.key.find((name) => !sent.includes(name));
  if (unsent === undefined) return undefined;
  return `its replica identity does not have the column ${unsent} any more, which is part of the sorting key`;
}

class Changes {
  readonly statements: string[] = [];
  readonly columns: SourceColumn[];
  readonly #plan: TablePlan;
  readonly #relation: Relation;
  readonly #now: SourceTable | undefined;
  readonly #nullable: boolean;
  readonly #table: string;

  constructor(
    plan: TablePlan,
    source: SourceTable,
    relation: Relation,
    now: SourceTable | undefined,
    nullable: boolean,
  ) {
    this.#plan = plan;
    this.columns = [...source.columns];
    this.#relation = relation;
    this.#now = now;
    this.#nullable = nullable;
    this.#table = `${tableName(plan.database, plan.target)}${onCluster(plan.form)}`;
  }

  look(column: RelationColumn): void {
    const known = this.columns.find((each) => each.name === column.name);
    const now = this.#now?.columns.find((each) => each.name === column.name);
    if (known === undefined) this.#appeared(column, now);
    else if (now !== undefined && known.attnum !== now.attnum) this.#replaced(known, column, now);
    else if (known.typeOid !== column.typeOid || known.typmod !== column.typmod) this.#retyped(known, column, now);
    else if (now !== undefined && known.notNull && !now.notNull) this.#alter(known, { ...known, notNull: false });
  }

  #appeared(column: RelationColumn, now: SourceColumn | undefined): void {
    const former = this.columns.find((each) => now !== undefined && each.attnum === now.attnum);
    if (now !== undefined && former !== undefined && !this.#has(former.name)) {
      this.#renamed(former, { ...former, name: column.name });
      this.look(column);
      return;
    }
    if (now !== undefined && isType(now, column)) {
      this.#add(now);
      return;
    }
    // The source has gone on: the column has another name or type by now, or none.
    const absent = this.columns.find((each) => !each.generated && !this.#has(each.name));
    if (now === undefined && absent === undefined) return;
    throw new Unfollowable(`the column ${column.name} has been changed again before its first change was followed`);
  }

  #renamed(former: SourceColumn, named: SourceColumn): void {
    if (this.#isKey(former)) throw new Unfollowable(`the key column ${former.name} has been renamed to ${named.name}`);
    const names = `${identifier(former.name)} TO ${identifier(named.name)}`;
    this.statements.push(`ALTER TABLE ${this.#table} RENAME COLUMN IF EXISTS ${names}`);
    this.columns[this.columns.indexOf(former)] = named;
  }

  #add(column: SourceColumn): void {
    if (this.#plan.isKeyless) {
      throw new Unfollowable(`the column ${column.name} was added, and without a key all columns tell rows apart`);
    }
    if (column.missingValue === undefined && (column.notNull || column.isUntold)) {
      throw new Unfollowable(`the column ${column.name} was added with values that the log does not tell`);
    }
    this.statements.push(`ALTER TABLE ${this.#table} ADD COLUMN IF NOT EXISTS ${this.#definition(column)}`);
    this.columns.push(column);
  }

  /** Dropped and made again under its old name: what the old one held is gone. */
  #replaced(known: SourceColumn, column: RelationColumn, now: SourceColumn): void {
    if (this.#isKey(known)) throw new Unfollowable(`the key column ${known.name} has been dropped and added again`);
    if (!isType(now, column)) throw new Unfollowable(`the column ${known.name} has been dropped and added again`);
    if (this.columns.some(({ attnum }) => attnum === now.attnum)) {
      throw new Unfollowable(`the column ${known.name} has the name of another one now`);
    }
    this.statements.push(`ALTER TABLE ${this.#table} DROP COLUMN IF EXISTS ${identifier(known.name)}`);
    this.columns.splice(this.columns.indexOf(known), 1);
    this.#add(now);
  }

  #retyped(known: SourceColumn, column: RelationColumn, now: SourceColumn | undefined): void {
    if (now !== undefined && isType(now, column)) {
      this.#alter(known, now);
      return;
    }
    // The stream has not yet reached a change of type that the table already has.
    if (now !== undefined && now.typeOid === known.typeOid && isWideningOid(column.typeOid, known.typeOid)) return;
    throw new Unfollowable(`the type of the column ${known.name} has been changed again before it was followed`);
  }

  #alter(known: SourceColumn, now: SourceColumn): void {
    const from = this.#planned(known).type;
    const to = this.#planned(now).type;
    if (from !== to) {
      if (this.#isKey(known)) throw new Unfollowable(`the type of the key column ${known.name} has been changed`);
      if (!isWidening(from, to)) {
        throw new Unfollowable(`the type of the column ${known.name} has been changed to ${now.typeName}`);
      }
      this.statements.push(`ALTER TABLE ${this.#table} MODIFY COLUMN ${identifier(now.name)} ${to}`);
    }
    this.columns[this.columns.indexOf(known)] = now;
  }

  /** Rows from before have the column's default at the time it was added, which the source keeps. */
  #definition(column: SourceColumn): string {
    const plan = this.#planned(column);
    const head = `${identifier(column.name)} ${plan.type}`;
    if (column.missingValue === undefined) return head;
    const text = literal(column.missingValue);
    const value = plan.expression?.replaceAll(identifier(column.name), () => text) ?? text;
    return `${head} DEFAULT CAST(${value} AS ${plan.type})`;
  }

  #planned(column: SourceColumn): ColumnPlan {
    const key = this.#isKey(column) && (!this.#plan.isKeyless || column.notNull);
    return columnPlan(column, { nullable: this.#nullable, key });
  }

  #isKey(column: SourceColumn): boolean {
    return this.#plan.key.includes(column.name);
  }

  #has(name: string): boolean {
    return this.#relation.columns.some((column) => column.name === name);
  }
}

function isType(column: SourceColumn, as: RelationColumn): boolean {
  return column.typeOid === as.typeOid && column.typmod === as.typmod;
}

const widerOids: readonly (readonly number[])[] = [
  [21, 23, 20],
  [700, 701],
  [1042, 1043, 25],
];

/** int2, int4, int8; float4, float8; bpchar, varchar, text; and other modifiers of the same type. */
function isWideningOid(from: number, to: number): boolean {
  if (from === to) return true;
  return widerOids.some((list) => list.includes(from) && list.indexOf(to) > list.indexOf(from));
}

const integers = ["Int16", "Int32", "Int64"];

/** Every value of the one type is a value of the other. */
export function isWidening(from: string, to: string): boolean {
  const [, inner] = /^Nullable\((.*)\)$/.exec(to) ?? [];
  if (inner !== undefined) {
    const [, before = from] = /^Nullable\((.*)\)$/.exec(from) ?? [];
    return before === inner || isWidening(before, inner);
  }
  if (integers.includes(from)) return to === "String" || integers.indexOf(to) > integers.indexOf(from);
  if (from === "Float32") return to === "Float64";
  if (from === "LowCardinality(String)") return to === "String";
  const [one, other] = [from, to].map((type) => /^Decimal\((\d+), (\d+)\)$/.exec(type)?.slice(1).map(Number));
  if (one === undefined || other === undefined) return false;
  const [digits = 0, scale = 0] = one;
  const [moreDigits = 0, moreScale = 0] = other;
  return moreScale >= scale && moreDigits - moreScale >= digits - scale;
}
