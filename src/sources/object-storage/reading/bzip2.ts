/** bzip2, which the embedded engine is built without: streaming, several streams in one file, checksums verified. */
import unbzip2Stream from "unbzip2-stream";

export class Bzip2Error extends Error {}

/** The decompressed bytes, one block at a time. Throws Bzip2Error at the first wrong or missing byte. */
export async function* decompressBzip2(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const stream = unbzip2Stream();
  let blocks: Buffer[] = [];
  let failure: unknown;
  let empty = true;
  stream.on("data", (block) => blocks.push(block));
  stream.on("error", (error) => {
    failure ??= error;
  });
  const take = () => {
    const taken = blocks;
    blocks = [];
    return taken;
  };
  for await (const chunk of compressed) {
    empty &&= chunk.length === 0;
    stream.write(chunk);
    yield* take();
    if (failure !== undefined) throw wrong(failure);
  }
  // An empty object is not a bzip2 file, and the library does not report it.
  if (empty) throw new Bzip2Error("The object is not valid bzip2: it is empty.");
  stream.end();
  yield* take();
  if (failure !== undefined) throw wrong(failure);
}

/** The library's own messages are not for users, and it reads past the end of a truncated file. */
function wrong(failure: unknown): Bzip2Error {
  const text = String((failure as { message?: unknown } | null)?.message ?? failure);
  const ended = failure instanceof TypeError || /prematurely/.test(text);
  const reason = /magic/i.test(text) ? "it does not begin like it" : ended ? "it breaks off" : "its bytes are damaged";
  return new Bzip2Error(`The object is not valid bzip2: ${reason}.`);
}
