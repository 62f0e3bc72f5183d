/**
 * Finds the bad messages of a refused batch. The engine names the first row that it could not read, which costs one
 * query for that row. Only when more rows are bad are all rows read once more, without inserting.
 */
import { ClickHouseError } from "../../clickhouse/client.ts";
import { isDataError } from "../../clickhouse/error-codes.ts";
import type { InsertFailure, Query } from "../source.ts";
import { rowOf, shortMessage } from "./engine-message.ts";
import { closesRightAway } from "./formats/json-object.ts";
import type { Position, SourceMessage } from "./message.ts";
import type { Group, MessageBatch } from "./message-batch.ts";
import type { RowPlan } from "./plan.ts";
import { listUnreadable, readAll, rowNumber } from "./probe.ts";

/** Rows whose own error is queried; further ones of the same batch get a general sentence. */
const maxDescribed = 20;
/** Bytes of rows in one query to the engine. */
const pieceBytes = 2_000_000;
const generalMessage = "The engine cannot read this message as the columns of the pipe ask for.";

/** Reason by position; empty when every row can be read, so that the rows were not the cause. */
export async function findBadMessages<M extends SourceMessage>(
  batch: MessageBatch<M>,
  plan: RowPlan<M>,
  failure: InsertFailure,
  /** False: only the row named by the failure is checked. */
  thorough: boolean,
  query: Query,
): Promise<Map<Position, string>> {
  const found = new Map<Position, string>();
  const row = rowOf(failure.message);
  const named = row === undefined ? undefined : batch.groups[failure.insert]?.positions[row - 1];
  const look = new Look(plan, query);
  if (row !== undefined && named !== undefined && !thorough) {
    const problem = await look.problemOf(batch.groups[failure.insert] as Group, row - 1, row);
    if (problem !== undefined) return found.set(named, problem);
  }
  for (const group of batch.groups) {
    for (const index of await look.unreadable(group)) {
      const described = found.size < maxDescribed ? await look.problemOf(group, index, index + 1) : undefined;
      found.set(group.positions[index] as Position, described ?? generalMessage);
    }
  }
  return found;
}

class Look<M extends SourceMessage> {
  readonly #plan: RowPlan<M>;
  readonly #query: Query;

  constructor(plan: RowPlan<M>, query: Query) {
    this.#plan = plan;
    this.#query = query;
  }

  /** Indexes of the rows that cannot be read, in order. */
  async unreadable(group: Group): Promise<number[]> {
    const found: number[] = [];
    for (let from = 0; from < group.rows.rows; ) {
      let to = from + 1;
      for (let size = group.rows.part(from, to).length; to < group.rows.rows && size < pieceBytes; to += 1) {
        size += group.rows.part(to, to + 1).length;
      }
      const listed = this.#plan.format === "JSONEachRow" ? await this.#list(group, from, to) : undefined;
      // What is computed from the rows may fail where the parser does not.
      const isListed = listed !== undefined && listed.length > 0;
      for (const index of isListed ? listed : await this.#split(group, from, to)) found.push(index);
      from = to;
    }
    return found;
  }

  /** The error of rows `[from, to)`; undefined when they can be read. */
  async problemOf(group: Group, from: number, to: number): Promise<string | undefined> {
    const { sql, settings } = readAll(this.#plan, Buffer.concat([group.group.head, group.rows.part(from, to)]));
    const problem = await this.#ask(sql, settings);
    return typeof problem === "string" ? problem : undefined;
  }

  async #list(group: Group, from: number, to: number): Promise<number[] | undefined> {
    const lines: Buffer[] = [];
    for (let index = from; index < to; index += 1) {
      // On one line, because after an unreadable row the engine continues at the next line end.
      const line = Buffer.from(group.rows.part(index, index + 1).subarray(1));
      for (let at = line.indexOf(0x0a); at >= 0; at = line.indexOf(0x0a, at + 1)) line[at] = 0x20;
      const members = closesRightAway(line, -1) ? "" : ",";
      lines.push(Buffer.from(`{"${rowNumber}":${index - from + 1}${members}`), line, Buffer.from("\n"));
    }
    const { sql, settings } = listUnreadable(this.#plan, Buffer.concat(lines), to - from);
    const answer = await this.#ask(sql, settings);
    return typeof answer === "string" ? undefined : answer.map((row) => from + Number(row.row) - 1);
  }

  /** By bisection: as many queries as bad rows, times the logarithm of all rows. */
  async #split(group: Group, from: number, to: number): Promise<number[]> {
    if ((await this.problemOf(group, from, to)) === undefined) return [];
    if (to - from === 1) return [from];
    const middle = Math.floor((from + to) / 2);
    return [...(await this.#split(group, from, middle)), ...(await this.#split(group, middle, to))];
  }

  /** The rows of the result, or the engine's error about the data. Throws for any other error. */
  async #ask(sql: string, settings: Record<string, string | number>) {
    try {
      return await this.#query(sql, { settings });
    } catch (error) {
      if (error instanceof ClickHouseError && isDataError(error)) return shortMessage(error.message);
      throw error;
    }
  }
}
