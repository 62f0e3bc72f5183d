/** Pages of a sorted list. A cursor is the position of the last item, so that added items shift nothing. */
import { z } from "zod";
import { parsedJson } from "../../lib/json.ts";
import { refusedQuery } from "./validate.ts";

/** The value by which a list is sorted; undefined: unknown, and last in both orders. */
export type SortValue = string | number | undefined;

export type SortPosition = { readonly value: SortValue; readonly id: string };

export type SortedPage<T> = { readonly items: readonly T[]; readonly nextCursor: string | undefined };

export type PageRequest = {
  /** What the cursor belongs to: the sort key and the order. */
  readonly sorting: string;
  readonly isDescending: boolean;
  readonly limit: number;
  readonly cursor: string | undefined;
};

const cursorForm = z.tuple([z.string(), z.union([z.string(), z.number(), z.null()]), z.string()]);

/** Sorts the items and cuts the page after the cursor. Throws BAD_REQUEST for a cursor of another list. */
export function pageOf<T>(
  items: readonly T[],
  positionOf: (item: T) => SortPosition,
  request: PageRequest,
): SortedPage<T> {
  const compare = (a: SortPosition, b: SortPosition) => comparePositions(a, b, request.isDescending);
  const after = request.cursor === undefined ? undefined : readCursor(request.cursor, request.sorting);
  const positioned = items.map((item) => ({ item, position: positionOf(item) }));
  const left = after === undefined ? positioned : positioned.filter(({ position }) => compare(position, after) > 0);
  left.sort((a, b) => compare(a.position, b.position));
  const page = left.slice(0, request.limit);
  const last = page.at(-1)?.position;
  const nextCursor = left.length > page.length && last !== undefined ? writeCursor(last, request.sorting) : undefined;
  return { items: page.map(({ item }) => item), nextCursor };
}

function comparePositions(a: SortPosition, b: SortPosition, isDescending: boolean): number {
  if (a.value === undefined || b.value === undefined) {
    if (a.value !== b.value) return a.value === undefined ? 1 : -1;
  } else if (a.value !== b.value) {
    return a.value < b.value === isDescending ? 1 : -1;
  }
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

function writeCursor({ value, id }: SortPosition, sorting: string): string {
  return Buffer.from(JSON.stringify([sorting, value ?? null, id])).toString("base64url");
}

function readCursor(text: string, sorting: string): SortPosition {
  const parsed = cursorForm.safeParse(parsedJson(Buffer.from(text, "base64url").toString("utf8")));
  if (parsed.success && parsed.data[0] === sorting) return { value: parsed.data[1] ?? undefined, id: parsed.data[2] };
  throw refusedQuery("cursor", "is not a cursor of this list with this order");
}
