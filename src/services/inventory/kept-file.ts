/** JSON files that are replaced as a whole: facts that may be lost and are written again. */
import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";

/** Writes the file atomically. Its folder must exist. */
export async function keepFile(file: string, content: unknown): Promise<void> {
  const next = `${file}.${randomUUID()}`;
  try {
    await writeFile(next, JSON.stringify(content), { mode: 0o600 });
    await rename(next, file);
  } finally {
    await rm(next, { force: true });
  }
}

/** The content; undefined when there is no file, or when it is damaged or of another version of this program. */
export async function readKeptFile<T extends { readonly format: number }>(
  file: string,
  format: T["format"],
): Promise<T | undefined> {
  try {
    const content = JSON.parse(await readFile(file, "utf8")) as T;
    return content.format === format ? content : undefined;
  } catch {
    return undefined;
  }
}
