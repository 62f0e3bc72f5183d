/** What a metadata database itself records about its leases: no two holders may ever have had the same fence. */
import pg from "pg";

export type LeaseHolder = {
  readonly kind: string;
  readonly id: string;
  readonly holder: string;
  readonly fence: number;
  /** When it got the lease, by the database's clock, in ms since 1970. */
  readonly at: number;
};

const table = `
  CREATE TABLE lease_history (kind TEXT, id TEXT, holder TEXT, fence BIGINT, at TIMESTAMPTZ DEFAULT clock_timestamp());
  CREATE FUNCTION record_lease() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' OR NEW.fence <> OLD.fence OR NEW.holder <> OLD.holder THEN
      INSERT INTO lease_history (kind, id, holder, fence) VALUES (NEW.kind, NEW.id, NEW.holder, NEW.fence);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER record_lease AFTER INSERT OR UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION record_lease();`;

export class LeaseHistory {
  readonly #url: () => string;

  private constructor(url: () => string) {
    this.#url = url;
  }

  /** Records from now on. The tables of the store must be there. A function answers the URL of the present primary. */
  static async on(url: string | (() => string)): Promise<LeaseHistory> {
    const history = new LeaseHistory(typeof url === "string" ? () => url : url);
    await history.#ask(table);
    return history;
  }

  /** In the order in which they got their leases. */
  async holders(kind: string): Promise<LeaseHolder[]> {
    const rows = await this.#ask(
      `SELECT kind, id, holder, CAST(fence AS INTEGER) AS fence,
         CAST(extract(epoch FROM at) * 1000 AS DOUBLE PRECISION) AS at
       FROM lease_history WHERE kind = '${kind}' ORDER BY lease_history.at`,
    );
    return rows as LeaseHolder[];
  }

  /** The present holder of each lease of the kind, if it has not ended. */
  async present(kind: string): Promise<{ readonly id: string; readonly holder: string }[]> {
    const now = "extract(epoch FROM clock_timestamp()) * 1000";
    return (await this.#ask(
      `SELECT id, holder FROM leases WHERE kind = '${kind}' AND expires_at > ${now} ORDER BY id`,
    )) as { id: string; holder: string }[];
  }

  /** Fences that more than one holder has had: there must be none. */
  async sharedFences(): Promise<object[]> {
    return await this.#ask("SELECT kind, id, fence FROM lease_history GROUP BY kind, id, fence HAVING count(*) > 1");
  }

  async #ask(sql: string): Promise<object[]> {
    const client = new pg.Client({ connectionString: this.#url() });
    await client.connect();
    try {
      return (await client.query<object>(sql)).rows ?? [];
    } finally {
      await client.end();
    }
  }
}
