"""clickhouse-connect, unchanged. The address is in the environment."""
import os
import datetime

import clickhouse_connect
from clickhouse_connect.driver.exceptions import DatabaseError
from clickhouse_connect.driver.external import ExternalData

address = {
    "host": os.environ["CLICKHOUSE_HOST"],
    "port": int(os.environ["CLICKHOUSE_PORT"]),
    "username": "default",
    "password": os.environ["CLICKHOUSE_PASSWORD"],
}
client = clickhouse_connect.get_client(**address)


def check(name, run, expected):
    try:
        got = run()
        print(f"ok {name}" if got == expected else f"not ok {name}: {got!r}, not {expected!r}", flush=True)
    except Exception as error:  # every failure is a result
        print(f"not ok {name}: {str(error).splitlines()[0]}", flush=True)


def insert(compress):
    packed = clickhouse_connect.get_client(**address, compress=compress)
    return packed.insert("py", [[i, f"row {i};\n"] for i in range(1000)], column_names=["a", "s"]).written_rows


def code_of(sql):
    try:
        client.query(sql)
    except DatabaseError as error:
        return "60" if "60" in str(error) else str(error)
    return "no error"


def external():
    data = ExternalData(file_name="d", data=b"1\tx\n2\ty\n", fmt="TSV", structure="a UInt8, b String")
    return client.query("SELECT b FROM d ORDER BY a", external_data=data).result_rows


def session():
    own = clickhouse_connect.get_client(**address, session_id="py")
    own.command("CREATE TEMPORARY TABLE tt (a Int32)")
    own.insert("tt", [[1], [2]], column_names=["a"])
    return own.command("SELECT sum(a) FROM tt")


def stream():
    with client.query_row_block_stream("SELECT number FROM numbers(300000)") as blocks:
        return sum(len(block) for block in blocks)


def zone():
    rows = client.query("SELECT toDateTime(0, 'Asia/Tokyo')").result_rows
    return rows[0][0].utcoffset()


check("ping", client.ping, True)
check("create", lambda: client.command("CREATE TABLE py (a UInt32, s String) ORDER BY a").written_rows, 0)
for compress in ("lz4", "zstd", "gzip", False):
    check(f"insert with {compress}", lambda: insert(compress), 1000)
check("select", lambda: client.query("SELECT s FROM py WHERE a = 7 LIMIT 1").result_rows, [("row 7;\n",)])
check(
    "parameters",
    lambda: client.query("SELECT {l:Array(String)}, {n:UInt8}", parameters={"l": ["it's", "\t"], "n": 7}).result_rows,
    [(["it's", "\t"], 7)],
)
check("external data", external, [("x",), ("y",)])
check("session", session, 3)
check("stream of a large result", stream, 300000)
check("time zone of a column", zone, datetime.timedelta(hours=9))
check("error of a statement", lambda: code_of("SELECT * FROM nothing"), "60")
check("raw insert", lambda: client.raw_insert("py", ["a", "s"], b"9000,raw\n", fmt="CSV").written_rows, 1)
check("summary of a query", lambda: client.query("SELECT sum(number) FROM numbers(1000)").summary["read_rows"], "1000")
client.command("DROP TABLE IF EXISTS py")
print("done")
