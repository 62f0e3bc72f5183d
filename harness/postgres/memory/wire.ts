/** One connection of a client, as a Postgres backend speaks: messages in, answers out. */
import type { Socket } from "node:net";
import { int16, int32, text } from "./messages.ts";

/** Types of answers: the driver makes values of them. */
export const oids = { bool: 16, int4: 23, int8: 20, float8: 701, text: 25, textArray: 1009 } as const;

export type Answer = {
  readonly columns: Readonly<Record<string, keyof typeof oids>>;
  readonly rows: readonly (readonly (string | null)[])[];
};

/** Rows of COPY, as they are sent. */
export type Copied = { readonly copied: readonly string[] };

export class SqlError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export type Session = {
  /** Runs one statement. Undefined for a command that has taken over the connection. */
  query(sql: string, parameters: readonly (string | null)[]): Answer | Copied | undefined;
  /** A message of the client while the connection is taken over. */
  received(message: Buffer): void;
  closed(): void;
};

export class Wire {
  readonly #socket: Socket;
  readonly #session: Session;
  #pending: Buffer = Buffer.alloc(0);
  #isStarted = false;
  #sql = "";
  #parameters: (string | null)[] = [];

  constructor(socket: Socket, session: (wire: Wire) => Session) {
    this.#socket = socket;
    this.#session = session(this);
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", () => {});
    socket.on("close", () => this.#session.closed());
  }

  /** Ends the connection as a process that is killed does. */
  drop(): void {
    this.#socket.destroy();
    this.#session.closed();
  }

  send(letter: string, ...parts: readonly Buffer[]): void {
    const body = Buffer.concat(parts);
    if (!this.#socket.destroyed) this.#socket.write(Buffer.concat([Buffer.from(letter), int32(body.length + 4), body]));
  }

  #take(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    for (;;) {
      const head = this.#isStarted ? 1 : 0;
      if (this.#pending.length < head + 4) return;
      const end = head + this.#pending.readInt32BE(head);
      if (this.#pending.length < end) return;
      const message = this.#pending.subarray(0, end);
      this.#pending = this.#pending.subarray(end);
      if (this.#isStarted) this.#message(String.fromCharCode(message[0] as number), message.subarray(5));
      else this.#start();
    }
  }

  #start(): void {
    this.#isStarted = true;
    this.send("R", int32(0));
    this.send("K", int32(1), int32(2));
    this.#ready();
  }

  #message(letter: string, body: Buffer): void {
    if (letter === "Q") this.#run(body.toString("utf8", 0, body.length - 1), [], true);
    else if (letter === "P") this.#sql = body.toString("utf8").split("\0")[1] as string;
    else if (letter === "B") this.#parameters = parametersOf(body);
    else if (letter === "S") this.#run(this.#sql, this.#parameters, false);
    else if (letter === "d") this.#session.received(body);
    else if (letter === "X") this.drop();
  }

  #run(sql: string, parameters: readonly (string | null)[], isSimple: boolean): void {
    try {
      const answer = this.#session.query(sql, parameters);
      if (answer === undefined) return;
      if (!isSimple) for (const letter of ["1", "2"]) this.send(letter);
      if ("copied" in answer) this.#copy(answer);
      else this.#rows(answer);
      this.send("C", text(`SELECT ${"rows" in answer ? answer.rows.length : 0}`));
    } catch (error) {
      if (!(error instanceof SqlError)) throw error;
      this.send("E", text("SERROR"), text(`C${error.code}`), text(`M${error.message}`), Buffer.of(0));
    }
    this.#ready();
  }

  #rows({ columns, rows }: Answer): void {
    const described = Object.entries(columns).map(([name, type]) =>
      Buffer.concat([text(name), int32(0), int16(0), int32(oids[type]), int16(-1), int32(-1), int16(0)]),
    );
    this.send("T", int16(described.length), ...described);
    for (const row of rows) {
      const values = row.map((value) => {
        if (value === null) return int32(-1);
        const bytes = Buffer.from(value);
        return Buffer.concat([int32(bytes.length), bytes]);
      });
      this.send("D", int16(row.length), ...values);
    }
  }

  #copy({ copied }: Copied): void {
    this.send("H", Buffer.of(0), int16(0));
    for (const row of copied) this.send("d", Buffer.from(row));
    this.send("c");
  }

  #ready(): void {
    this.send("Z", Buffer.from("I"));
  }
}

/** Reads a Bind message: portal, statement, formats, values. */
function parametersOf(body: Buffer): (string | null)[] {
  let at = body.indexOf(0, body.indexOf(0) + 1) + 1;
  at += 2 + 2 * body.readInt16BE(at);
  const count = body.readInt16BE(at);
  at += 2;
  return Array.from({ length: count }, () => {
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) return null;
    at += length;
    return body.toString("utf8", at - length, at);
  });
}
