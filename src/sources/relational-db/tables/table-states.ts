/**
 * What the pipe knows of each of its tables, kept as marks: the columns as the stream has them by now (the source
 * itself may be further), whether its copy is complete, and why it is stopped if it is.
 */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import { AppError } from "../../../lib/errors.ts";
import { marks } from "../../contract/marks.ts";
import type { SourceContext } from "../../contract/source.ts";
import type { PostgresDurable, SavedTable, SourceTable } from "../declaration/durable.ts";
import type { RelationalDbConfig } from "../declaration/kind.ts";
import type { TableMapping } from "../declaration/table-mapping.ts";
import { parseLsn, versionText } from "../protocol/lsn.ts";
import type { Relation } from "../protocol/pgoutput.ts";
import { readTables, type TableName } from "../server/catalog.ts";
import { planTable, type TablePlan } from "./tables.ts";

type Context = SourceContext<PostgresDurable>;

export class TableState {
  readonly #context: Context;
  readonly #replan: (source: SourceTable, mapping: TableMapping) => TablePlan;
  #saved: SavedTable;
  #plan: TablePlan;
  #hasRelaxed: boolean;

  constructor(
    context: Context,
    saved: SavedTable,
    now: SourceTable | undefined,
    replan: (source: SourceTable, mapping: TableMapping) => TablePlan,
  ) {
    this.#context = context;
    this.#saved = saved;
    this.#replan = replan;
    this.#hasRelaxed = saved.source.columns.some((column) => {
      const current = now?.columns.find((each) => each.attnum === column.attnum);
      return column.notNull && current?.notNull === false;
    });
    this.#plan = this.planned(this.#saved.source);
  }

  get plan(): TablePlan {
    return this.#plan;
  }
  get source(): SourceTable {
    return this.#saved.source;
  }
  get copyId(): string {
    return this.#saved.copy;
  }
  /** Nothing is to be copied: a table that was stopped on the way is left as it is. */
  get isCopied(): boolean {
    return this.#saved.copied !== undefined || this.isStopped;
  }
  /** Its changes are part of the stream. */
  get isFollowed(): boolean {
    return this.#saved.copied !== undefined && !this.isStopped;
  }
  /** Its rows are copied, and the stream is ahead of them: the changes in between are still to come. */
  get isCatchingUp(): boolean {
    return !this.isCopied && this.#saved.loaded !== undefined;
  }
  /** With the snapshot of this position. */
  get loaded(): string {
    return this.#saved.loaded ?? "0/0";
  }
  get isStopped(): boolean {
    return this.#saved.stopped !== undefined;
  }
  /** A column became nullable at the source after the table was created. The stream does not report this. */
  get hasRelaxed(): boolean {
    return this.#hasRelaxed;
  }
  /** Changes of transactions that committed before this position are in the copy already. */
  get skipTo(): bigint {
    return this.#saved.skipTo === undefined ? 0n : parseLsn(this.#saved.skipTo);
  }

  async completed(lsn: string): Promise<void> {
    await this.#save({ ...this.#saved, copied: lsn });
    this.#plan = this.planned(this.#saved.source);
  }

  async loadedWith(lsn: string): Promise<void> {
    await this.#save({ ...this.#saved, loaded: lsn });
    this.#plan = this.planned(this.#saved.source);
  }

  async skipChangesBefore(lsn: string): Promise<void> {
    await this.#save({ ...this.#saved, skipTo: lsn });
  }

  /** The stream has other columns from here on. */
  async changed(source: SourceTable): Promise<void> {
    await this.#save({ ...this.#saved, source });
    this.#plan = this.planned(this.#saved.source);
    this.#hasRelaxed = false;
  }

  /** `remedy`: what has to be done before a resync helps, as a sentence. */
  async stop(reason: string, remedy?: string): Promise<void> {
    const stoppedAt = new Date().toISOString();
    await this.#save({ ...this.#saved, stopped: reason, stoppedAt, ...(remedy === undefined ? {} : { remedy }) });
    this.#warn(reason);
  }

  /** Says why its changes are left out, if they are. */
  warnIfStopped(): void {
    if (this.#saved.stopped !== undefined) this.#warn(this.#saved.stopped);
  }

  /** With these columns of the source. */
  planned(source: SourceTable): TablePlan {
    const { mapping, loaded, copied = loaded } = this.#saved;
    const plan = this.#replan(source, mapping);
    return copied === undefined ? plan : { ...plan, settledFrom: versionText(parseLsn(copied), 0, false) };
  }

  async #save(saved: SavedTable): Promise<void> {
    this.#saved = saved;
    await this.#context.ledger.note(marks([tableMark(this.#plan.target), saved]), {});
  }

  #warn(reason: string): void {
    const { schema, name } = this.#saved.source;
    const message = `Changes of the table ${schema}.${name} are left out: ${reason}.`;
    this.#context.progress.warn(`table ${this.#plan.target}`, message);
  }
}

export class TableStates {
  readonly #context: Context;
  readonly #byName: ReadonlyMap<string, TableState>;
  #leaving: ReadonlyMap<string, TableState>;

  private constructor(context: Context, states: readonly TableState[], leaving: readonly TableState[]) {
    this.#context = context;
    this.#byName = byName(states);
    this.#leaving = byName(leaving);
  }

  /** Reads what is known, and the source's catalog for tables that are new or whose copy is not complete. */
  static async load(client: pg.Client, config: RelationalDbConfig, context: Context): Promise<TableStates> {
    const mappings = config.tableMappings;
    const leaving = await goneTables(mappings, context);
    const saved = await context.ledger.marks(mappings.map((mapping) => tableMark(mapping.targetTable)));
    const known = (mapping: TableMapping): SavedTable | undefined => {
      const mark = saved.get(tableMark(mapping.targetTable));
      return mark && isDeepStrictEqual(mark.mapping, mapping) ? mark : undefined;
    };
    const wanted = mappings.map(({ sourceSchemaName: schema, sourceTable: name }) => ({ schema, name }));
    const found = new Map(
      (await readTables(client, wanted)).map((table) => [tableKey(table.schema, table.name), table]),
    );
    const used = mappings.map((mapping) => {
      const now = found.get(tableKey(mapping.sourceSchemaName, mapping.sourceTable));
      const state = known(mapping) ?? { source: now ?? missing(mapping), mapping, copy: newCopyId() };
      return { now, table: state.again === true ? again(state, now) : restarted(state, now) };
    });
    const tables = used.map(({ table }) => [tableMark(table.mapping.targetTable), table] as const);
    const targets = [...mappings, ...leaving.map(({ mapping }) => mapping)].map(({ targetTable }) => targetTable);
    await context.ledger.note({ [targetsMark]: targets, ...marks(...tables) }, {});
    const { target, form } = context.destination;
    const settings = { ...settingsOf(config), form: await form() };
    const replan = (source: SourceTable, of: TableMapping) => planTable(source, of, target.database, settings);
    const states = used.map(({ now, table }) => new TableState(context, table, now, replan));
    for (const state of states) state.warnIfStopped();
    const gone = leaving.map((table) => new TableState(context, table, undefined, replan));
    return new TableStates(context, states, gone);
  }

  all(): TableState[] {
    return [...this.#byName.values()];
  }

  /** Tables that are followed and were not published: what happened to them meanwhile is not in the stream. */
  async stopSilent(added: readonly TableName[]): Promise<void> {
    for (const { schema, name } of added) {
      const state = this.#byName.get(tableKey(schema, name));
      if (state?.isFollowed) await state.stop("it was not in the publication for some time");
    }
  }

  ofTarget(target: string): TableState | undefined {
    return [...this.all(), ...this.leaving()].find((state) => state.plan.target === target);
  }

  /** By its name, or, of a table that was renamed, by its number. */
  of({ schema, name, oid }: Pick<Relation, "schema" | "name" | "oid">): TableState | undefined {
    return this.#byName.get(tableKey(schema, name)) ?? this.all().find(({ source }) => source.oid === oid);
  }

  /**
   * Tables that were taken out of the pipe. They are part of batches that began before, so that each of them ends with
   * a whole batch.
   */
  leaving(): TableState[] {
    return [...this.#leaving.values()];
  }

  leavingOf(relation: Pick<Relation, "schema" | "name">): TableState | undefined {
    return this.#leaving.get(tableKey(relation.schema, relation.name));
  }

  /** Called when those batches are durable. Should the tables come back, they are copied anew. */
  async forgetLeaving(): Promise<void> {
    if (this.#leaving.size === 0) return;
    const gone = this.leaving().map(({ plan }) => [tableMark(plan.target), null] as const);
    const targets = this.all().map(({ plan }) => plan.target);
    await this.#context.ledger.note({ [targetsMark]: targets, ...marks(...gone) }, {});
    this.#leaving = new Map();
  }
}

function byName(states: readonly TableState[]): ReadonlyMap<string, TableState> {
  return new Map(states.map((state) => [tableKey(state.source.schema, state.source.name), state]));
}

/** What is kept of tables that were taken out of the pipe. */
async function goneTables(mappings: readonly TableMapping[], { ledger }: Context): Promise<SavedTable[]> {
  const targets = (await ledger.marks([targetsMark])).get(targetsMark) ?? [];
  const now = mappings.map((mapping) => mapping.targetTable);
  const gone = targets.filter((target) => !now.includes(target));
  if (gone.length === 0) return [];
  const kept = await ledger.marks(gone.map(tableMark));
  return [...kept.values()].filter((table) => table !== null);
}

/**
 * An interrupted copy continues only if the table is unchanged and has a version, by which a row that is copied twice
 * stays one row. Otherwise it starts over.
 */
function restarted(state: SavedTable, now: SourceTable | undefined): SavedTable {
  const stopped = now && tableProblem(state, now);
  if (state.copied !== undefined && state.stopped === undefined && stopped !== undefined) {
    return { ...state, stopped, stoppedAt: new Date().toISOString() };
  }
  if ((state.copied ?? state.loaded ?? state.stopped) !== undefined || now === undefined) return state;
  const engine = state.mapping.tableEngine ?? "ReplacingMergeTree";
  if (engine === "ReplacingMergeTree" && isDeepStrictEqual(json(now), json(state.source))) return state;
  return { source: now, mapping: state.mapping, copy: newCopyId() };
}

/** A table is known by its number at the source: another one may have got its name. */
export function tableProblem(
  { source }: { readonly source: SourceTable },
  { oid, schema, name }: Pick<Relation, "oid" | "schema" | "name">,
): string | undefined {
  if (oid !== source.oid) return "it was dropped and made again, or another table has its name now";
  if (schema === source.schema && name === source.name) return undefined;
  return `it was renamed to ${schema}.${name}`;
}

/** A table that the user wants to be copied anew; the copy that readers see stays until then. */
function again({ again: _, ...state }: SavedTable, now: SourceTable | undefined): SavedTable {
  if (now !== undefined) return { source: now, mapping: state.mapping, copy: newCopyId() };
  const { schema, name } = state.source;
  const stopped = "it does not exist at the source";
  const remedy = `Create ${schema}.${name}, or remove it from tableMappings.`;
  return { ...state, stopped, stoppedAt: new Date().toISOString(), remedy };
}

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function settingsOf({ settings }: RelationalDbConfig) {
  const { allowNullableColumns: nullable = false, deleteOnMerge: hardDelete = false } = settings ?? {};
  return { nullable, hardDelete };
}

function missing({ sourceSchemaName, sourceTable }: TableMapping): never {
  const table = `${sourceSchemaName}.${sourceTable}`;
  const message = `The table ${table} does not exist at the source: create it, or remove it from tableMappings.`;
  throw new AppError("SOURCE_INVALID", message);
}

function newCopyId(): string {
  return randomBytes(6).toString("hex");
}

const targetsMark = "targets";

/** Key of the mark of a table, by its name at the destination. */
export function tableMark(target: string): `table:${string}` {
  return `table:${target}`;
}

function tableKey(schema: string, name: string): string {
  return JSON.stringify([schema, name]);
}
