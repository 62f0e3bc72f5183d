/**
 * Work on whole files, run in a worker thread so that hashing gigabytes never blocks the control plane: checksums,
 * encryption, decryption.
 *
 * An encrypted file is a 16-byte head (magic, 7 random bytes, one reserved byte) and chunks of up to 1 MiB, each
 * followed by its AES-256-GCM tag. A chunk's nonce consists of the random bytes, its number, and whether it is the last
 * one, and the file's name is authenticated too: chunks cannot be truncated, reordered or moved into another file.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from "node:fs";

export type FileTask =
  | { readonly op: "hash"; readonly path: string }
  | {
      readonly op: "seal" | "unseal";
      readonly path: string;
      readonly target: string;
      readonly key: Uint8Array;
      readonly name: string;
    };

/** Size and checksum of the stored file: of the target, where there is one. */
export type FileFacts = { readonly size: number; readonly sha256: string };

const magic = Buffer.from("MRBK0001");
const prefixBytes = 7;
const headBytes = 16;
const chunkBytes = 1_048_576;
const tagBytes = 16;

/** Runs the task; throws file system errors, and an error for a modified file. */
export function runFileTask(task: FileTask): FileFacts {
  if (task.op === "hash") return hash(task.path);
  return task.op === "seal" ? seal(task) : unseal(task);
}

function hash(path: string): FileFacts {
  const file = openSync(path, "r");
  try {
    const digest = createHash("sha256");
    const buffer = Buffer.allocUnsafe(4 * chunkBytes);
    let size = 0;
    for (let read = readFull(file, buffer); read > 0; read = readFull(file, buffer)) {
      digest.update(buffer.subarray(0, read));
      size += read;
    }
    return { size, sha256: digest.digest("hex") };
  } finally {
    closeSync(file);
  }
}

type Recode = { readonly path: string; readonly target: string; readonly key: Uint8Array; readonly name: string };

function seal({ path, target, key, name }: Recode): FileFacts {
  return recode(path, target, (input, write) => {
    const prefix = randomBytes(prefixBytes);
    write(Buffer.concat([magic, prefix, Buffer.alloc(1)]));
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const ahead = Buffer.allocUnsafe(chunkBytes);
    let length = readFull(input, chunk);
    for (let number = 0; ; number += 1) {
      // Whether a chunk is the last one is known only after reading the next.
      const next = readFull(input, ahead);
      const cipher = createCipheriv("aes-256-gcm", key, nonce(prefix, number, next === 0)).setAAD(Buffer.from(name));
      write(cipher.update(chunk.subarray(0, length)));
      cipher.final();
      write(cipher.getAuthTag());
      if (next === 0) return;
      ahead.copy(chunk, 0, 0, next);
      length = next;
    }
  });
}

function unseal({ path, target, key, name }: Recode): FileFacts {
  return recode(path, target, (input, write) => {
    const head = Buffer.alloc(headBytes);
    if (readFull(input, head) !== headBytes || !head.subarray(0, magic.length).equals(magic)) {
      throw new Error("not an encrypted backup file");
    }
    const prefix = head.subarray(magic.length, magic.length + prefixBytes);
    const chunk = Buffer.allocUnsafe(chunkBytes + tagBytes);
    const ahead = Buffer.allocUnsafe(chunkBytes + tagBytes);
    let length = readFull(input, chunk);
    for (let number = 0; ; number += 1) {
      const next = readFull(input, ahead);
      if (length < tagBytes) throw new Error("the encrypted file is cut off");
      const decipher = createDecipheriv("aes-256-gcm", key, nonce(prefix, number, next === 0));
      decipher.setAAD(Buffer.from(name)).setAuthTag(chunk.subarray(length - tagBytes, length));
      const plain = decipher.update(chunk.subarray(0, length - tagBytes));
      decipher.final();
      write(plain);
      if (next === 0) return;
      ahead.copy(chunk, 0, 0, next);
      length = next;
    }
  });
}

function recode(
  path: string,
  target: string,
  body: (input: number, write: (bytes: Buffer) => void) => void,
): FileFacts {
  const input = openSync(path, "r");
  try {
    const output = openSync(target, "w", 0o600);
    try {
      const digest = createHash("sha256");
      let size = 0;
      body(input, (bytes) => {
        digest.update(bytes);
        size += bytes.length;
        for (let at = 0; at < bytes.length; ) at += writeSync(output, bytes, at);
      });
      fdatasyncSync(output);
      return { size, sha256: digest.digest("hex") };
    } finally {
      closeSync(output);
    }
  } finally {
    closeSync(input);
  }
}

function nonce(prefix: Buffer, number: number, last: boolean): Buffer {
  const value = Buffer.alloc(12);
  prefix.copy(value);
  value.writeUInt32BE(number, prefixBytes);
  value[11] = last ? 1 : 0;
  return value;
}

/** Fills the buffer up to the end of the file. */
function readFull(file: number, buffer: Buffer): number {
  let filled = 0;
  while (filled < buffer.length) {
    const read = readSync(file, buffer, filled, buffer.length - filled, null);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}
