/**
 * Reads a whole multipart/form-data body and writes a new one from it, so that the engine finds no field that was not
 * judged.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { bytesOf, type Parameter } from "./parameters.ts";

/** Limit of fields and external tables together. */
const maxBytes = 64 * 1_048_576;
const maxParts = 1_000;
/** A byte string: the bytes of a name in UTF-8 count as letters. */
const plainName = /^[\w.$@#/:()[\]\x80-\xff-]+(?: [\w.$@#/:()[\]\x80-\xff-]+)*$/;

export type Form = {
  readonly fields: readonly Parameter[];
  readonly tables: readonly { readonly name: string; readonly data: Buffer }[];
};

/** Throws a ClickHouseException when the form is malformed or too large. */
export async function readForm(message: IncomingMessage): Promise<Form> {
  const fields: Parameter[] = [];
  const tables: { name: string; data: Buffer }[] = [];
  const limits = { fieldSize: maxBytes, fileSize: maxBytes, parts: maxParts };
  const contentType = message.headers["content-type"] as string;
  // Few requests are multipart, and its modules would delay every start of an engine.
  const { Busboy } = await import("@fastify/busboy");
  if (message.destroyed) throw clickHouseException("BAD_ARGUMENTS", "The multipart body was cut off.");
  await new Promise<void>((resolve, reject) => {
    const fail = (text: string) => reject(clickHouseException("BAD_ARGUMENTS", text));
    const parser = (() => {
      try {
        return new Busboy({ headers: { "content-type": contentType }, limits });
      } catch (error) {
        return fail(`The multipart body cannot be read: ${(error as Error).message}.`);
      }
    })();
    if (parser === undefined) return;
    let received = 0;
    parser.on("field", (name: string | undefined, value: string) => {
      if (name === undefined) fail("A part of the multipart body has no name.");
      else fields.push([bytesOf(name), bytesOf(value)]);
    });
    parser.on("file", (name: string | undefined, file: NodeJS.ReadableStream) => {
      if (name === undefined) return fail("A part of the multipart body has no name.");
      const chunks: Buffer[] = [];
      file.on("data", (chunk: Buffer) => chunks.push(chunk));
      file.on("end", () => tables.push({ name: bytesOf(name), data: Buffer.concat(chunks) }));
    });
    parser.on("partsLimit", () => fail(`A multipart body may have at most ${maxParts} parts.`));
    parser.on("error", (error: Error) => fail(`The multipart body cannot be read: ${error.message}.`));
    parser.on("finish", resolve);
    message.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received <= maxBytes) return;
      message.unpipe(parser);
      reject(clickHouseException("QUERY_IS_TOO_LARGE", `A multipart body may have at most ${maxBytes} bytes.`));
    });
    message.on("aborted", () => fail("The multipart body was cut off."));
    message.pipe(parser);
  });
  return { fields, tables };
}

/** The form as a new body, and its Content-Type. */
export function writeForm({ fields, tables }: Form): { readonly type: string; readonly body: Buffer } {
  const boundary = `millrace-${randomUUID()}`;
  const parts: Buffer[] = [];
  const part = (name: string, file: boolean, data: Buffer) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file ? '; filename="data"' : ""}\r\n\r\n`;
    parts.push(Buffer.from(head, "latin1"), data, Buffer.from("\r\n"));
  };
  for (const [name, value] of fields) part(name, false, Buffer.from(value, "latin1"));
  for (const { name, data } of tables) part(name, true, data);
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) };
}

/**
 * The engine trims names and decodes encoded words (RFC 2047) in them, so it would find another name than was judged.
 * Only names that it cannot read differently pass.
 */
function quoted(name: string): string {
  if (!plainName.test(name)) {
    throw clickHouseException(
      "BAD_ARGUMENTS",
      "The name of a form field must consist of letters, digits and _ - . $ @ # / : ( ) [ ], with spaces only in between.",
    );
  }
  return name;
}
