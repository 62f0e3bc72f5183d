/** What the source has, in a sentence. */
import { bytesText, counted } from "../../lib/format.ts";
import { formatOf } from "./following.ts";
import type { Form } from "./form.ts";
import type { Listing } from "./use-listing.ts";

export type Found = { readonly isEmpty: boolean; readonly text: string };

/** In the first page of the listing, which may have more. */
export function foundIn(form: Form, listing: Listing): Found {
  const found = foundOnPage(form, listing);
  if (listing.nextCursor === undefined) return found;
  if (!found.isEmpty) return { ...found, text: `More than ${found.text}` };
  return { ...found, text: "The source answers, but none of its first objects matches the URL; it has more." };
}

function foundOnPage({ values }: Form, listing: Listing): Found {
  const { topics, streams, tables, objects = [], prefixes = [] } = listing;
  if (topics !== undefined) return foundOf(topics.length, "topic", sumOf(topics.map(({ messages }) => messages)));
  if (streams !== undefined) return foundOf(streams.length, "stream");
  if (tables !== undefined) return foundOf(tables.length, "table");
  const matches = objects.filter(({ key }) => isLike(key, values.url ?? values.path ?? ""));
  const bytes = matches.reduce((sum, one) => sum + one.bytes, 0);
  if (matches.length > 0) {
    const format = formatOf(matches[0]?.key ?? "");
    const facts = [counted(matches.length, "object"), bytesText(bytes)];
    const verb = matches.length === 1 ? "matches" : "match";
    return { isEmpty: false, text: `${[...facts, format ?? []].flat().join(", ")} ${verb}.` };
  }
  const inFolders = sumOf(prefixes.map(({ objects: within }) => within)) ?? 0;
  if (prefixes.length === 0) return { isEmpty: true, text: "The source answers, but no object matches the URL." };
  const where = counted(prefixes.length, "folder");
  return { isEmpty: false, text: `${where} with ${counted(inFolders, "object")} ${was(prefixes.length)} found.` };
}

function foundOf(count: number, noun: string, messages?: number): Found {
  if (count === 0) return { isEmpty: true, text: `The source answers, but this user may see no ${noun}.` };
  const more = messages === undefined ? "" : `, ${counted(messages, "message")}`;
  return { isEmpty: false, text: `${counted(count, noun)}${more} ${was(more === "" ? count : 2)} found.` };
}

function was(count: number): string {
  return count === 1 ? "was" : "were";
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

/** By the last part of both: `?`, `*` and braces in the URL. */
function isLike(key: string, url: string): boolean {
  const last = (text: string) =>
    text
      .replace(/[?#].*$/, (rest) => (rest.includes("=") ? "" : rest))
      .split("/")
      .at(-1) ?? "";
  const pattern = last(url)
    .replaceAll(/[.+^$()|[\]\\]/g, "\\$&")
    .replaceAll(/\*+/g, ".*")
    .replaceAll("?", ".")
    .replaceAll(/\{([^}]*)\}/g, (_, choices: string) => `(${choices.replaceAll(",", "|")})`);
  return new RegExp(`^${pattern || ".*"}$`).test(last(key));
}
