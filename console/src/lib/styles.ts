/** Stylesheets that could not be loaded. The code that needs them asks for each only once. */
const failed = new Set<HTMLLinkElement>();
globalThis.document?.addEventListener(
  "error",
  ({ target }) => target instanceof HTMLLinkElement && target.rel === "stylesheet" && failed.add(target),
  true,
);

/** Asks for them again, so that code that is loaded after it lacks none. */
export async function missingStyles(): Promise<void> {
  await Promise.all([...failed].map(loadAgain));
}

async function loadAgain(old: HTMLLinkElement): Promise<void> {
  const link = old.cloneNode() as HTMLLinkElement;
  failed.delete(old);
  await new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = reject;
    old.replaceWith(link);
  });
}
