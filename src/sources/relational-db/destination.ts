/** The pipe's tables at the destination: made, exchanged after a copy, and looked at by readers through views. */
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import type { SourceContext } from "../source.ts";
import { createTableSql, createViewSql, type TablePlan } from "./tables.ts";

export class DestinationTables {
  readonly #context: SourceContext;
  readonly #comment: string;

  constructor(context: SourceContext) {
    this.#context = context;
    this.#comment = `Made by a Millrace pipe: ${context.pipeId}, copy ${context.epoch}`;
  }

  /**
   * Makes the table that a copy fills, and answers its name: the table itself, or another one beside it while the table
   * has an older copy that readers still see.
   */
  async prepare(plan: TablePlan): Promise<string> {
    const comments = await this.#comments(plan);
    const live = comments.get(plan.target);
    const isOlder = live !== undefined && live !== this.#comment && this.#context.epoch > 0;
    const into = isOlder ? besideName(plan.target) : plan.target;
    const beside = comments.get(besideName(plan.target));
    if (beside !== undefined && beside !== this.#comment) await this.#drop(plan, besideName(plan.target));
    await this.#context.command(createTableSql(plan, into, this.#comment));
    if (into === plan.target) await this.#finishTable(plan);
    return into;
  }

  /** The copy is complete: from now on readers see it. May be repeated. */
  async publish(plan: TablePlan): Promise<void> {
    const comments = await this.#comments(plan);
    const beside = besideName(plan.target);
    if (comments.get(plan.target) !== this.#comment && comments.get(beside) === this.#comment) {
      const names = [plan.target, beside].map((name) => tableName(plan.database, name));
      await this.#context.command(`EXCHANGE TABLES ${names[0]} AND ${names[1]}`);
    }
    if (comments.has(beside)) await this.#drop(plan, beside);
    await this.#finishTable(plan);
  }

  async #finishTable(plan: TablePlan): Promise<void> {
    if (plan.engine === "ReplacingMergeTree") await this.#context.command(createViewSql(plan));
  }

  async #drop(plan: TablePlan, name: string): Promise<void> {
    await this.#context.command(`DROP TABLE IF EXISTS ${tableName(plan.database, name)} SYNC`);
  }

  /** Of the table and of the one beside it, where they exist. */
  async #comments(plan: TablePlan): Promise<ReadonlyMap<string, string>> {
    const names = [plan.target, besideName(plan.target)].map(literal).join(", ");
    const rows = await this.#context.query(
      `SELECT name, comment FROM system.tables WHERE database = ${literal(plan.database)} AND ${identifier("name")} IN (${names})`,
    );
    return new Map(rows.map((row) => [String(row.name), String(row.comment)]));
  }
}

function besideName(target: string): string {
  return `${target}_resync`;
}
