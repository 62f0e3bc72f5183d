/** Makes refused lines of text files again: the lines of one object are one statement, with the facts of the object. */
import { ClickHouseError } from "../../../clickhouse/client.ts";
import { isDataError } from "../../../clickhouse/error-codes.ts";
import { identifier, literal, tableName } from "../../../clickhouse/sql.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { requireTable } from "../../contract/destination.ts";
import type {
  Insert,
  InsertFailure,
  KeptRow,
  RefusedReplays,
  ReplayDecision,
  ReplayInserts,
  RowReplay,
  RowReplayContext,
} from "../../contract/source.ts";
import { shortMessage } from "../../messages/engine-message.ts";
import { oneBlock } from "../../messages/plan.ts";
import { bytesLiteral } from "../../messages/probe.ts";
import type { LineFacts } from "../declaration/durable.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { fieldPlan } from "./fields.ts";
import { objectFormatSettings } from "./formats.ts";

type Group = { readonly facts: LineFacts; readonly rows: KeptRow[] };

export class LineReplay implements RowReplay {
  readonly #config: ObjectStorageConfig;
  readonly #context: RowReplayContext;

  constructor(config: ObjectStorageConfig, context: RowReplayContext) {
    this.#config = config;
    this.#context = context;
  }

  async make(rows: readonly KeptRow[], refused: RefusedReplays): Promise<ReplayInserts> {
    const groups = groupsOf(rows);
    // A group without rows keeps its place: the token of a statement contains its number.
    const left = groups.map(({ facts, rows: all }) => ({ facts, rows: all.filter(({ id }) => !refused.has(id)) }));
    return {
      inserts: left.flatMap((group, at) => (group.rows.length === 0 ? [] : [this.#insert(group, at)])),
      refused,
      decide: (failure) => this.#decide(left.filter((group) => group.rows.length > 0)[failure.insert], failure),
    };
  }

  #insert(group: Group, at: number): Insert {
    const { database, table, columns } = requireTable(this.#context.target);
    const { structure, expressions } = fieldPlan(columns, group.facts.format, "wide");
    const names = columns.map((column) => identifier(column.name)).join(", ");
    const from = withFacts(group.facts, `input(${literal(structure)})`);
    return {
      sql:
        `INSERT INTO ${tableName(database, table)} (${names}) SELECT ${expressions.join(", ")} ` +
        `FROM ${from} FORMAT ${group.facts.format}`,
      body: () => contentOf(group),
      settings: { ...objectFormatSettings(group.facts.format, this.#config.delimiter, false), ...oneBlock },
      key: `group${at}`,
    };
  }

  async #decide(group: Group | undefined, failure: InsertFailure): Promise<ReplayDecision> {
    if (group === undefined || failure.kind !== "data") return { kind: "stop" };
    const refused = new Map<string, string>();
    await this.#findBad(group, refused);
    return refused.size === 0 ? { kind: "stop" } : { kind: "without", refused };
  }

  /** By bisection: as many queries as bad rows, times the logarithm of all rows. */
  async #findBad(group: Group, refused: Map<string, string>): Promise<void> {
    const problem = await this.#problemOf(group);
    const [first] = group.rows;
    if (problem === undefined || first === undefined) return;
    if (group.rows.length === 1) return void refused.set(first.id, problem);
    const middle = Math.floor(group.rows.length / 2);
    await this.#findBad({ ...group, rows: group.rows.slice(0, middle) }, refused);
    await this.#findBad({ ...group, rows: group.rows.slice(middle) }, refused);
  }

  async #problemOf(group: Group): Promise<string | undefined> {
    const { format } = group.facts;
    const { structure, expressions } = fieldPlan(requireTable(this.#context.target).columns, format, "wide");
    const from = withFacts(group.facts, `format(${format}, ${literal(structure)}, ${bytesLiteral(contentOf(group))})`);
    const sql = `SELECT count() AS rows FROM (SELECT tuple(${expressions.join(", ")}) AS row FROM ${from}) WHERE NOT ignore(row)`;
    const settings = { ...objectFormatSettings(format, this.#config.delimiter, false), max_query_size: 2 ** 29 };
    try {
      await this.#context.query(sql, { settings });
      return undefined;
    } catch (error) {
      if (error instanceof ClickHouseError && isDataError(error)) return shortMessage(error.message);
      throw error;
    }
  }
}

function groupsOf(rows: readonly KeptRow[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const key = JSON.stringify(row.facts);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { facts: row.facts as JsonObject & LineFacts, rows: [row] });
    else group.rows.push(row);
  }
  return [...groups.values()];
}

/** The columns with facts about the object, which the engine's function for objects adds. */
function withFacts({ path, size, etag, time }: LineFacts, table: string): string {
  const file = path.slice(path.lastIndexOf("/") + 1);
  const facts = [
    `${literal(path)} AS _path`,
    `${literal(file)} AS _file`,
    `toUInt64(${Math.trunc(size)}) AS _size`,
    `toDateTime(${Math.trunc(time)}) AS _time`,
    `${literal(etag)} AS _etag`,
  ];
  return `(SELECT *, ${facts.join(", ")} FROM ${table})`;
}

function contentOf({ facts, rows }: Group): Buffer {
  const newline = Buffer.from("\n");
  const header = facts.header === undefined ? [] : [Buffer.from(facts.header), newline];
  return Buffer.concat([...header, ...rows.flatMap(({ bytes }) => [bytes, newline])]);
}
