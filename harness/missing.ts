/** A tool that this machine lacks. The message says in one sentence how to install it. */
export class MissingTool extends Error {
  override readonly name = "MissingTool";
}

/** Throws MissingTool with the reason, if there is one. */
export function requireTool(reason: string | undefined): void {
  if (reason !== undefined) throw new MissingTool(reason);
}
