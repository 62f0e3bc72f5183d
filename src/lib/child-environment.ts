/**
 * The environment of a child process: ours without our own settings, which may hold secrets and mean nothing to it.
 * `compileCacheDir` is where Node keeps compiled code, so that the next start is faster.
 */
export function childEnvironment(compileCacheDir: string | undefined): NodeJS.ProcessEnv {
  // biome-ignore lint/style/noProcessEnv: inherited by the child, not read as configuration.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_"));
  return {
    ...Object.fromEntries(inherited),
    ...(compileCacheDir === undefined ? {} : { NODE_COMPILE_CACHE: compileCacheDir }),
  };
}
