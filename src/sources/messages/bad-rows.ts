/**
 * Finds the bad messages of a refused batch. The engine names the first row that it could not read, which costs one
 * query for that row. Only when more rows are bad are all rows read once more, without inserting.
 */
import { ClickHouseError } from "../../clickhouse/client.ts";
import { isDataError } from "../../clickhouse/error-codes.ts";
import { parsedJson } from "../../lib/json.ts";
import type { InsertFailure, Query } from "../contract/source.ts";
import { rowOf, shortMessage } from "./engine-message.ts";
import { closesRightAway } from "./formats/json-object.ts";
import type { Position, SourceMessage } from "./message.ts";
import type { Group, MessageBatch } from "./message-batch.ts";
import type { RowPlan } from "./plan.ts";
import { listUnreadable, readAll, rowNumber } from "./probe.ts";

/** Rows of a group whose own error is queried. */
const maxDescribed = 20;
/** Bytes of rows in one query to the engine. */
const pieceBytes = 2_000_000;
const generalMessage = "The engine cannot read this message as the columns of the pipe ask for.";
const notJson = "The message is not valid JSON.";

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
    const unreadable = await look.unreadable(group);
    const causes = await look.causesOf(group, unreadable);
    for (const index of unreadable) found.set(group.positions[index] as Position, causes.get(index) ?? generalMessage);
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
    const every = Array.from({ length: group.rows.rows }, (_, index) => index);
    for (const piece of piecesOf(group, every)) {
      const listed = this.#plan.format === "JSONEachRow" ? await this.#list(group, piece) : undefined;
      // What is computed from the rows may fail where the parser does not.
      const isListed = listed !== undefined && listed.length > 0;
      const [from, to] = [piece[0] as number, (piece.at(-1) as number) + 1];
      for (const index of isListed ? listed : await this.#split(group, from, to)) found.push(index);
    }
    return found;
  }

  /**
   * The errors of unreadable rows by index. Where there are many, those that can be read without the
   * field that the error of another one names have its error.
   */
  async causesOf(group: Group, unreadable: readonly number[]): Promise<Map<number, string>> {
    const causes = new Map<number, string>();
    let rest = [...unreadable];
    for (let described = 0; described < maxDescribed && rest.length > 0; described += 1) {
      const [first, ...others] = rest as [number, ...number[]];
      const problem = (await this.problemOf(group, first, first + 1)) ?? generalMessage;
      causes.set(first, problem);
      rest = others;
      if (unreadable.length <= maxDescribed) continue;
      const { found, shared } = await this.#likeFirst(group, first, others, problem);
      if (found.length === 0) continue;
      for (const index of [first, ...found]) causes.set(index, shared);
      rest = others.filter((index) => !causes.has(index));
    }
    return causes;
  }

  async #likeFirst(group: Group, first: number, others: readonly number[], problem: string) {
    const field = /\(while reading the value of key (.*)\)$/s.exec(problem)?.[1];
    const isColumn = this.#plan.search.structure.some(({ name }) => name === field);
    if (this.#plan.format === "JSONEachRow" && field !== undefined && isColumn) {
      const found: number[] = [];
      for (const piece of piecesOf(group, others)) {
        const still = new Set((await this.#list(group, piece, field)) ?? piece);
        found.push(...piece.filter((index) => !still.has(index)));
      }
      // Without the value of the first one.
      return { found, shared: problem.replace(/ here: .*: \(while/s, " (while") };
    }
    const broken = (index: number) => parsedJson(group.rows.part(index, index + 1).toString()) === undefined;
    const isBroken = this.#plan.format === "JSONEachRow" && broken(first);
    return { found: isBroken ? others.filter(broken) : [], shared: notJson };
  }

  /** The error of rows `[from, to)`; undefined when they can be read. */
  async problemOf(group: Group, from: number, to: number): Promise<string | undefined> {
    const { sql, settings } = readAll(this.#plan, Buffer.concat([group.group.head, group.rows.part(from, to)]));
    const problem = await this.#ask(sql, settings);
    return typeof problem === "string" ? problem : undefined;
  }

  /** Those of the rows that cannot be read, without a column if one is named. Undefined: the list cannot be made. */
  async #list(group: Group, indexes: readonly number[], without?: string): Promise<number[] | undefined> {
    const lines: Buffer[] = [];
    for (const [at, index] of indexes.entries()) {
      // On one line, because after an unreadable row the engine continues at the next line end.
      const line = Buffer.from(group.rows.part(index, index + 1).subarray(1));
      for (let end = line.indexOf(0x0a); end >= 0; end = line.indexOf(0x0a, end + 1)) line[end] = 0x20;
      const members = closesRightAway(line, -1) ? "" : ",";
      lines.push(Buffer.from(`{"${rowNumber}":${at + 1}${members}`), line, Buffer.from("\n"));
    }
    const { sql, settings } = listUnreadable(this.#plan, Buffer.concat(lines), indexes.length, without);
    const answer = await this.#ask(sql, settings);
    return typeof answer === "string" ? undefined : answer.map((row) => indexes[Number(row.row) - 1] as number);
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

/** The rows in pieces for one query each. */
function* piecesOf(group: Group, indexes: readonly number[]): Generator<number[]> {
  let piece: number[] = [];
  let size = 0;
  for (const index of indexes) {
    if (size >= pieceBytes) {
      yield piece;
      [piece, size] = [[], 0];
    }
    piece.push(index);
    size += group.rows.part(index, index + 1).length;
  }
  if (piece.length > 0) yield piece;
}
