declare module "unbzip2-stream" {
  /** An old-style stream that decompresses within `write` and `end`, one block of at most 900 kB at a time. */
  function unbzip2Stream(): {
    write(chunk: Buffer): boolean;
    end(): void;
    on(event: "data", listener: (chunk: Buffer) => void): void;
    on(event: "error", listener: (error: unknown) => void): void;
  };
  export = unbzip2Stream;
}
