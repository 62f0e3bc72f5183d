/**
 * Gives the memory of bulk data back at once. The collector would do it later, and would run for nothing else: buffers of
 * 64 KiB fill its limit for memory outside of the heap many times a second, and each time it looks at the whole heap.
 */

/** Smaller ones are not worth it, and may share their memory with others. */
const minBytes = 16_384;

/** The buffer is empty afterwards: only for the last one who holds it. One that is a part of another is left as it is. */
export function free(buffer: Buffer): void {
  const memory = buffer.buffer;
  if (buffer.length < minBytes || memory.byteLength !== buffer.length || !(memory instanceof ArrayBuffer)) return;
  memory.transfer(0);
}
