/** The pipe's tables at the destination: made, exchanged after a copy, and looked at by readers through views. */
import { identifier, literal, tableName } from "../../../clickhouse/sql.ts";
import { onCluster } from "../../../clickhouse/table-form.ts";
import type { SourceContext } from "../../contract/source.ts";
import { createTargetTableSql, createViewSql, ownColumns, type TablePlan, viewName } from "./tables.ts";

export class DestinationTables {
  readonly #context: SourceContext;

  constructor(context: SourceContext) {
    this.#context = context;
  }

  /**
   * Makes the table that a copy fills, and answers its name: the table itself, or another one beside it while the table
   * has an older copy that readers still see. `isExact`: its columns are those of the plan, also in a table of the
   * user.
   */
  async prepare(plan: TablePlan, copyId: string): Promise<{ into: string; isExact: boolean }> {
    const comments = await this.#comments(plan);
    const comment = commentOf(copyId);
    const live = comments.get(plan.target);
    const isOlder = live !== undefined && live !== comment && live.startsWith(commentOf(""));
    const beside = besideName(plan.target);
    const into = isOlder ? beside : plan.target;
    if (comments.has(beside) && comments.get(beside) !== comment) await this.#drop(plan, beside);
    await this.#context.destination.define(createTargetTableSql(plan, into, comment));
    if (into === plan.target) await this.refreshView(plan);
    return { into, isExact: await this.#isExact(plan, into) };
  }

  /** The copy is complete: from now on readers see it. May be repeated. */
  async publish(plan: TablePlan, copyId: string): Promise<void> {
    const comments = await this.#comments(plan);
    const beside = besideName(plan.target);
    if (comments.get(plan.target) !== commentOf(copyId) && comments.get(beside) === commentOf(copyId)) {
      await this.#exchange(plan, plan.target, beside);
      // Else `prepare` has done so.
      await this.refreshView(plan);
    }
    if (comments.has(beside)) await this.#drop(plan, beside);
  }

  /** Drops what an unfinished copy has put beside the table, if anything. */
  async discard(plan: TablePlan): Promise<void> {
    const beside = besideName(plan.target);
    if ((await this.#comments(plan)).get(beside)?.startsWith(commentOf("")) === true) await this.#drop(plan, beside);
  }

  /**
   * The view for readers, after the table's columns have changed. A view that is there is exchanged: while the engine
   * replaces one, it is not there. May be repeated.
   */
  async refreshView(plan: TablePlan): Promise<void> {
    if (plan.engine !== "ReplacingMergeTree") return;
    const view = viewName(plan.target);
    const next = `${view}_next`;
    const { define } = this.#context.destination;
    if (!(await this.#has(plan, view))) return await define(createViewSql(plan, view));
    const dropNext = `DROP VIEW IF EXISTS ${tableName(plan.database, next)}${onCluster(plan.form)} SYNC`;
    await define(dropNext);
    await define(createViewSql(plan, next));
    await this.#exchange(plan, view, next);
    await define(dropNext);
  }

  async #has(plan: TablePlan, name: string): Promise<boolean> {
    const of = `database = ${literal(plan.database)} AND name = ${literal(name)}`;
    return (await this.#context.destination.query(`SELECT 1 AS one FROM system.tables WHERE ${of}`)).length > 0;
  }

  async #exchange({ database, form }: TablePlan, one: string, other: string): Promise<void> {
    await this.#context.destination.define(
      `EXCHANGE TABLES ${tableName(database, one)} AND ${tableName(database, other)}${onCluster(form)}`,
    );
  }

  async #drop(plan: TablePlan, name: string): Promise<void> {
    await this.#context.destination.define(
      `DROP TABLE IF EXISTS ${tableName(plan.database, name)}${onCluster(plan.form)} SYNC`,
    );
  }

  async #isExact(plan: TablePlan, table: string): Promise<boolean> {
    const rows = await this.#context.destination.query(
      `SELECT name, type, default_kind FROM system.columns WHERE database = ${literal(plan.database)} AND table = ${literal(table)}`,
    );
    const found = new Map(rows.map((row) => [String(row.name), row]));
    return [...plan.columns, ...ownColumns].every(({ name, type }) => {
      const column = found.get(name);
      return column?.type === type && column.default_kind === "";
    });
  }

  /** The comments of the table and of the one beside it, where they exist. */
  async #comments(plan: TablePlan): Promise<ReadonlyMap<string, string>> {
    const names = [plan.target, besideName(plan.target)].map(literal).join(", ");
    const rows = await this.#context.destination.query(
      `SELECT name, comment FROM system.tables WHERE database = ${literal(plan.database)} AND ${identifier("name")} IN (${names})`,
    );
    return new Map(rows.map((row) => [String(row.name), String(row.comment)]));
  }
}

/** The comment of a table that a pipe has made; those of all copies begin with that of "". */
export function commentOf(copyId: string): string {
  return `Made by a Millrace pipe, copy ${copyId}`;
}

function besideName(target: string): string {
  return `${target}_resync`;
}
