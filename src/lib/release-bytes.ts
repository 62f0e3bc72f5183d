/**
 * Memory of received bytes is outside of the heap, and the collector frees it: for each 64 MB it looks at the whole
 * heap, which costs a server that receives megabytes more than receiving them.
 */

/**
 * Frees the memory of the bytes now: nobody may read them after this, and `length` is 0. A part of a larger memory,
 * which others may read, is left to the collector.
 */
export function releaseBytes(bytes: Buffer): void {
  const memory = bytes.buffer as ArrayBuffer;
  if (bytes.length > 0 && bytes.length === memory.byteLength) memory.transfer(0);
}
