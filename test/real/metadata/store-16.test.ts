/** The tests of the store on Postgres 16. */
import { testOnPostgres } from "./store-tests.ts";

await testOnPostgres(16);
