/** What a confined child may touch. Whatever is not named here is refused by the kernel. */

export type Rules = {
  /**
   * Folders and files: regular files and folders below may be read, written, made, moved within them and removed, never
   * run. Nothing else may be made: the control plane reads in some of these folders, would follow links, and wait for pipes.
   */
  readonly readWrite: readonly string[];
  /**
   * Folders: as `readWrite`, and symbolic links may be made. Nothing of ours may follow paths in there, and it must not
   * lie in a folder of `readWrite`.
   */
  readonly withLinks: readonly string[];
  /** Folders and files: everything below may be read and listed. What does not exist is left out. */
  readonly read: readonly string[];
  /** Files that may be read and run. What does not exist is left out. */
  readonly execute: readonly string[];
  /** TCP ports that may be connected to, at any address: Landlock knows no addresses. */
  readonly connectPorts: readonly number[] | "any";
  /** TCP ports that may be bound. */
  readonly bindPorts: readonly number[];
  /**
   * Folders where unix sockets may be made, removed and connected to. Empty: no unix sockets at all. Before version 9 of
   * Landlock any other value allows to connect to every socket that file permissions allow.
   */
  readonly unixSockets: readonly string[];
  /** UDP, which name resolution needs. The kernel knows no rule about where it goes. */
  readonly datagrams: boolean;
  /** Changing modes of files by their path, wherever they are, if the same user owns them. Owners never change. */
  readonly modes: boolean;
  /** The version of Landlock without which the program cannot do its work behind it; below, it runs without Landlock. */
  readonly leastLandlock: number;
};
