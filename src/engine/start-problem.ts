/** Why an engine host did not become ready, in one sentence without paths of this machine. */

const exception = /^Code: \d+\. DB::Exception: .*$/gm;
const maxLength = 500;

/**
 * `output` is the end of the host's standard error, which is also in the server's log; `dataDir` is replaced, because
 * users of the service read the sentence.
 */
export function startProblem(output: string, reason: string | undefined, dataDir: string): string {
  const told = output.match(exception)?.at(-1) ?? reason ?? "the server's log has the details";
  return withoutPaths(told, dataDir);
}

/** The text without paths of this machine, and not longer than a sentence. */
export function withoutPaths(text: string, dataDir: string): string {
  const sentence = text.replaceAll(dataDir, "<data>").replaceAll(/(?<![\w<>.])\/(?:[\w.@+-]+\/)+/g, "");
  return sentence.length <= maxLength ? sentence : `${sentence.slice(0, maxLength)}...`;
}
