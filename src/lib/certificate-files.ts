/** The certificate and the private key of a TLS server, in two files that are read again when they change. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";

export type CertificatePaths = { readonly cert: string; readonly key: string };

export type TlsPair = { readonly cert: string | Buffer; readonly key: string | Buffer };

/** The pair that a TLS server presents, which may be replaced while it runs. */
export type TlsSource = {
  readonly pair: TlsPair;
  /** `use` receives every later pair. Returns a function that ends this. */
  onRenewed(use: (pair: TlsPair) => void): () => void;
};

type TlsFiles = { readonly cert: Buffer; readonly key: Buffer };

/** What a pass of `refresh` has found. `refused`: the files changed and cannot be used; the pair is the old one. */
export type Refreshed = "unchanged" | "renewed" | "refused";

export class CertificateFiles implements TlsSource {
  readonly #paths: CertificatePaths;
  readonly #users = new Set<(pair: TlsPair) => void>();
  #pair: TlsFiles;
  #certificate: X509Certificate;
  #context: SecureContext;
  #problem: string | undefined;

  /** Throws an error that names the file, if the two cannot be used. */
  constructor(paths: CertificatePaths) {
    this.#paths = paths;
    this.#pair = readPair(paths);
    ({ certificate: this.#certificate, context: this.#context } = checked(this.#pair, paths));
  }

  get pair(): TlsFiles {
    return this.#pair;
  }

  /** The context of the pair. */
  get context(): SecureContext {
    return this.#context;
  }

  /** The first certificate of the file, which belongs to the server; the others lead to its authority. */
  get certificate(): X509Certificate {
    return this.#certificate;
  }

  /** Why the files, as they are now, are not used; undefined: they are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  onRenewed(use: (pair: TlsPair) => void): () => void {
    this.#users.add(use);
    return () => void this.#users.delete(use);
  }

  /**
   * Reads the files. A pair that has changed and can be used replaces the old one for new connections; open ones go on.
   * `refused` is returned once for each reason.
   */
  refresh(): Refreshed {
    try {
      const pair = readPair(this.#paths);
      const isSame = pair.cert.equals(this.#pair.cert) && pair.key.equals(this.#pair.key);
      if (!isSame) {
        ({ certificate: this.#certificate, context: this.#context } = checked(pair, this.#paths));
        this.#pair = pair;
      }
      this.#problem = undefined;
      if (isSame) return "unchanged";
      for (const use of this.#users) use(pair);
      return "renewed";
    } catch (error) {
      const { message } = error as Error;
      const isNew = message !== this.#problem;
      this.#problem = message;
      return isNew ? "refused" : "unchanged";
    }
  }
}

function readPair({ cert, key }: CertificatePaths): TlsFiles {
  return { cert: readText(cert), key: readText(key) };
}

/** Throws an error that names the file. */
function checked(pair: TlsFiles, { cert: certPath, key: keyPath }: CertificatePaths) {
  const certificate = parsed(`${certPath} is not a certificate in PEM`, () => new X509Certificate(pair.cert));
  const key: KeyObject = parsed(`${keyPath} is not a private key in PEM without a passphrase`, () =>
    createPrivateKey(pair.key),
  );
  if (!certificate.checkPrivateKey(key)) {
    throw new Error(`the private key in ${keyPath} does not belong to the certificate in ${certPath}`);
  }
  const context = parsed(`${certPath} cannot be used for TLS`, () => createSecureContext(pair));
  return { certificate, context };
}

function readText(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** The reasons of OpenSSL are codes, and an error about a key might quote it. */
function parsed<T>(problem: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new Error(problem);
  }
}
