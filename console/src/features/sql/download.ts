/** A result as a file, as it comes: no part of it is kept in memory where the browser can write files. */
import { open } from "../../api/client.ts";
import { queryBody, type Statement } from "../../grid/query-run.ts";
import { saveFile } from "../../lib/save-file.ts";

type FileWriter = { write(part: Uint8Array): Promise<void>; close(): Promise<void>; abort(): Promise<void> };
type Picker = (options: { suggestedName: string }) => Promise<{ createWritable(): Promise<FileWriter> }>;

/** The number of bytes; undefined when the user chose no file. Rejects, without a file, if the result is incomplete. */
export async function download(statement: Statement, format: string, name: string): Promise<number | undefined> {
  const writer = await chooseFile(name);
  if (writer === undefined) return undefined;
  try {
    const body = { ...queryBody(statement, format), settings: {} };
    const response = await open("runQuery", { params: { serviceId: statement.serviceId }, body });
    const bytes = await copy(response.body as ReadableStream<Uint8Array>, writer);
    await writer.close();
    return bytes;
  } catch (error) {
    await writer.abort();
    if (error instanceof TypeError)
      throw new Error("The result broke off, so no file was saved. Run the statement to see why.");
    throw error;
  }
}

async function copy(body: ReadableStream<Uint8Array>, writer: FileWriter): Promise<number> {
  const reader = body.getReader();
  let bytes = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    await writer.write(part.value);
    bytes += part.value.length;
  }
  return bytes;
}

async function chooseFile(name: string): Promise<FileWriter | undefined> {
  const picker = (window as unknown as { showSaveFilePicker?: Picker }).showSaveFilePicker;
  if (picker === undefined) return blobWriter(name);
  try {
    return await (await picker({ suggestedName: name })).createWritable();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return undefined;
    return blobWriter(name);
  }
}

/** Browsers that cannot write files join the parts, and save them like any download. */
function blobWriter(name: string): FileWriter {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  return {
    write: async (part) => void parts.push(part as Uint8Array<ArrayBuffer>),
    abort: async () => void parts.splice(0),
    close: async () => saveFile(name, parts, "application/octet-stream"),
  };
}
