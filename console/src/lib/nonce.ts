/** The nonce of this page's content security policy, for libraries that add style elements. */
export function cspNonce(): string {
  return document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
}
