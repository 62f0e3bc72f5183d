"""asynch, unchanged, over the native protocol. The address is in the environment."""
import asyncio
import os

import asynch

url = "clickhouse://default:{}@{}:{}/default".format(
    os.environ["CLICKHOUSE_PASSWORD"], os.environ["CLICKHOUSE_HOST"], os.environ["CLICKHOUSE_NATIVE_PORT"]
)


async def check(name, run, expected):
    try:
        got = await run()
        print(f"ok {name}" if got == expected else f"not ok {name}: {got!r}, not {expected!r}", flush=True)
    except Exception as error:  # every failure is a result
        print(f"not ok {name}: {type(error).__name__} {str(error).splitlines()[0]}", flush=True)


async def main():
    for mode in ("", "?compression=lz4"):
        async with asynch.Connection(url + mode) as connection:

            async def ask(sql, rows=None):
                async with connection.cursor() as cursor:
                    await cursor.execute(sql, rows)
                    return None if rows is not None else await cursor.fetchall()

            async def insert():
                await ask("CREATE OR REPLACE TABLE asynch_rows (a UInt32, s Nullable(String)) ENGINE = MergeTree ORDER BY a")
                await ask("INSERT INTO asynch_rows (a, s) VALUES", [(i, str(i)) for i in range(10_000)])
                return await ask("SELECT count(), sum(a) FROM asynch_rows")

            async def fail():
                try:
                    await ask("SELECT * FROM nowhere")
                except Exception as error:
                    return "nowhere" in str(error)

            name = mode or "none"
            await check(f"{name}: select", lambda: ask("SELECT 1, currentUser()"), [(1, "default")])
            await check(f"{name}: insert", insert, [(10_000, 49_995_000)])
            await check(f"{name}: error", fail, True)
            await check(f"{name}: after the error", lambda: ask("SELECT 2"), [(2,)])
    print("done")


asyncio.run(main())
