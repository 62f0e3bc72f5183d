/** What a metadata database itself records about batches: how long a pipe rested when another process took it over. */
import pg from "pg";

const table = `
  CREATE TABLE batch_history (pipe_id TEXT, at TIMESTAMPTZ DEFAULT clock_timestamp());
  CREATE FUNCTION record_batch() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO batch_history (pipe_id) VALUES (coalesce(NEW.pipe_id, OLD.pipe_id));
    RETURN NULL;
  END $$;
  CREATE TRIGGER record_batch AFTER INSERT OR DELETE ON pipe_intents FOR EACH ROW EXECUTE FUNCTION record_batch();`;

export class BatchHistory {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Records beginnings and confirmations of batches from now on. The tables of the store must be there. */
  static async on(url: string): Promise<BatchHistory> {
    const history = new BatchHistory(url);
    await history.#ask(table);
    return history;
  }

  /** Pipes with a batch since this time, by the database's clock in ms since 1970. */
  async busySince(at: number): Promise<Set<string>> {
    const rows = await this.#ask("SELECT DISTINCT pipe_id FROM batch_history WHERE at > to_timestamp($1)", at / 1_000);
    return new Set((rows as { pipe_id: string }[]).map(({ pipe_id }) => pipe_id));
  }

  /** From the last of a pipe's batches before this time to the first one after it, in ms; NaN: there is none. */
  async restAround(pipeId: string, at: number): Promise<number> {
    const one = "SELECT extract(epoch FROM %) * 1000 FROM batch_history WHERE pipe_id = $1 AND at";
    const [before, after] = [one.replace("%", "max(at)"), one.replace("%", "min(at)")];
    const rows = await this.#ask(
      `SELECT CAST((${after} > to_timestamp($2)) - (${before} <= to_timestamp($2)) AS DOUBLE PRECISION) AS rest`,
      ...[pipeId, at / 1_000],
    );
    return (rows[0] as { rest: number | null } | undefined)?.rest ?? Number.NaN;
  }

  async #ask(sql: string, ...values: readonly (string | number)[]): Promise<object[]> {
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    try {
      // Several statements are possible only without values.
      return (await (values.length === 0 ? client.query<object>(sql) : client.query<object>(sql, [...values]))).rows;
    } finally {
      await client.end();
    }
  }
}
