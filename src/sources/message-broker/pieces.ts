/** Bytes as they came from the socket, in pieces, read in order without joining all of them. */

/** Memory for what lies across pieces. Every use overwrites the one before. */
export class Scratch {
  #memory: Buffer = Buffer.alloc(0);

  take(size: number): Buffer {
    if (size > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#memory.length));
    return this.#memory.subarray(0, size);
  }
}

const nothing = Buffer.alloc(0);

export class PieceReader {
  readonly #pieces: readonly Buffer[];
  readonly #scratch: Scratch | undefined;
  /** Bytes that were not read yet. */
  left: number;
  #piece = 0;
  #at = 0;

  /** Without scratch memory everything that is handed out keeps its content. */
  constructor(pieces: readonly Buffer[], scratch?: Scratch) {
    this.#pieces = pieces;
    this.#scratch = scratch;
    this.left = pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  /** The next byte after `ahead` further ones; only within what is left. */
  peek(ahead: number): number {
    let piece = this.#piece;
    let at = this.#at + ahead;
    while (at >= (this.#pieces[piece] as Buffer).length) {
      at -= (this.#pieces[piece] as Buffer).length;
      piece += 1;
    }
    return (this.#pieces[piece] as Buffer)[at] as number;
  }

  /** The next `size` bytes, of those that are left. */
  read(size: number): Buffer {
    const piece = this.#pieces[this.#piece];
    if (piece !== undefined && piece.length - this.#at >= size) {
      const view = piece.subarray(this.#at, this.#at + size);
      this.#move(size);
      return view;
    }
    const joined = this.#scratch?.take(size) ?? Buffer.allocUnsafe(size);
    for (let filled = 0; filled < size; ) {
      const part = this.#pieces[this.#piece] as Buffer;
      const count = Math.min(size - filled, part.length - this.#at);
      part.copy(joined, filled, this.#at, this.#at + count);
      filled += count;
      this.#move(count);
    }
    return joined;
  }

  /** At most `size` of the next bytes, as far as they lie in one piece. They are not read by that. */
  view(size: number): Buffer {
    return (this.#pieces[this.#piece] ?? nothing).subarray(this.#at, this.#at + size);
  }

  skip(size: number): void {
    for (let rest = size; rest > 0; ) {
      const count = Math.min(rest, (this.#pieces[this.#piece] as Buffer).length - this.#at);
      rest -= count;
      this.#move(count);
    }
  }

  #move(count: number): void {
    this.left -= count;
    this.#at += count;
    if (this.#at < (this.#pieces[this.#piece] as Buffer).length) return;
    this.#at = 0;
    this.#piece += 1;
  }
}
