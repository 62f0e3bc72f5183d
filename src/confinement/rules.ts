/** What a confined child may access. The kernel refuses everything else. */

export type Rules = {
  /**
   * Folders and files: regular files and folders below may be read, written, created, moved within them and deleted,
   * never executed. No other kind may be created: the control plane reads in some of these folders, and would follow
   * links and wait for pipes.
   */
  readonly readWrite: readonly string[];
  /**
   * Folders: as `readWrite`, and symbolic links may be created. Our own code may not follow paths in there, and it must
   * not be inside a folder of `readWrite`.
   */
  readonly withLinks: readonly string[];
  /** Folders and files: everything below may be read and listed. Missing paths are ignored. */
  readonly read: readonly string[];
  /** Names in the process's own folder in /proc: as `read`. */
  readonly own: readonly string[];
  /** Files that may be read and executed. Missing paths are ignored. */
  readonly execute: readonly string[];
  /** TCP ports that may be connected to, at any address: Landlock has no rule for addresses. */
  readonly connectPorts: readonly number[] | "any";
  /** TCP ports that may be bound. */
  readonly bindPorts: readonly number[];
  /**
   * Folders where unix sockets may be created, deleted and connected to. Empty: no unix sockets at all. Before version
   * 9 of Landlock any other value allows connections to every socket that file permissions allow.
   */
  readonly unixSockets: readonly string[];
  /** UDP, which name resolution needs. The kernel cannot restrict its destinations. */
  readonly datagrams: boolean;
  /** Changing modes of files by path, anywhere, if the same user owns them. Owners never change. */
  readonly modes: boolean;
  /**
   * Standard input is a terminal at which nobody types, for a program that behaves otherwise on one. It reads an error.
   */
  readonly terminal: boolean;
  /** The lowest version of Landlock with which the program works; with a lower one it runs without Landlock. */
  readonly leastLandlock: number;
};
