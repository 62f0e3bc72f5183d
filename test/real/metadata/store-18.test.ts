/** The tests of the store on Postgres 18. */
import { testOnPostgres } from "./store-tests.ts";

await testOnPostgres(18);
