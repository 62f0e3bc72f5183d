"""clickhouse-driver, unchanged, over the native protocol. The address is in the environment."""
import datetime
import decimal
import os
import sys
import uuid

from clickhouse_driver import Client
from clickhouse_driver.errors import NetworkError, ServerException

address = {
    "host": os.environ["CLICKHOUSE_HOST"],
    "port": int(os.environ["CLICKHOUSE_NATIVE_PORT"]),
    "user": "default",
    "password": os.environ["CLICKHOUSE_PASSWORD"],
}

types = [
    ("UInt8", [0, 255]),
    ("Int64", [-(2**63), 2**63 - 1]),
    ("UInt256", [2**255]),
    ("Float64", [1.5, -0.25]),
    ("Decimal(18, 4)", [decimal.Decimal("12.3456")]),
    ("String", ["", "x'\\\n\u20ac"]),
    ("FixedString(3)", ["abc"]),
    ("UUID", [uuid.UUID(int=7)]),
    ("Bool", [True, False]),
    ("Date", [datetime.date(2020, 2, 29)]),
    ("Date32", [datetime.date(1925, 1, 1)]),
    ("DateTime('UTC')", [datetime.datetime(2020, 2, 29, 1, 2, 3, tzinfo=datetime.timezone.utc)]),
    ("DateTime64(3)", [datetime.datetime(2020, 2, 29, 1, 2, 3, 4000)]),
    ("Enum8('a' = 1, 'b' = 2)", ["a", "b"]),
    ("Nullable(String)", [None, "x"]),
    ("LowCardinality(String)", ["a", "b", "a"]),
    ("LowCardinality(Nullable(String))", ["a", None]),
    ("Array(Array(Nullable(Int8)))", [[[1, None], []], []]),
    ("Tuple(Int8, String)", [(1, "x")]),
    ("Map(String, Array(Int8))", [{"a": [1], "b": []}]),
    ("IPv4", ["192.0.2.1"]),
]


def check(name, run, expected):
    try:
        got = run()
        print(f"ok {name}" if got == expected else f"not ok {name}: {got!r}, not {expected!r}", flush=True)
    except Exception as error:  # every failure is a result
        print(f"not ok {name}: {type(error).__name__} {str(error).splitlines()[0]}", flush=True)


def code_of(client, sql, *rows):
    try:
        client.execute(sql, *rows)
    except ServerException as error:
        return error.code
    return 0


def create(client, kind, table, columns, order):
    client.execute(f"DROP TABLE IF EXISTS {table}")
    engine = "Memory" if kind == "TEMPORARY" else f"MergeTree ORDER BY {order}"
    client.execute(f"CREATE {kind} TABLE {table} ({columns}) ENGINE = {engine}")


def round_trip(client, type_name, values, kind=""):
    table = f"driver_type{kind}"
    create(client, kind, table, f"n UInt8, v {type_name}", "n")
    client.execute(f"INSERT INTO {table} VALUES", list(enumerate(values)))
    return [str(row[0]) if type_name == "IPv4" else row[0] for row in client.execute(f"SELECT v FROM {table} ORDER BY n")]


def many_rows(client, kind=""):
    table = f"driver_rows{kind}"
    create(client, kind, table, "a UInt32, s String", "a")
    client.execute(f"INSERT INTO {table} VALUES", ((i, str(i)) for i in range(200_000)))
    return client.execute(f"SELECT count(), sum(a) FROM {table}")


def external(client):
    table = {"name": "ext", "structure": [("x", "Int32")], "data": [{"x": 1}, {"x": 2}]}
    return [client.execute("SELECT sum(x) FROM ext", external_tables=[table])[0][0] for _ in range(3)]


def session(client):
    client.execute("SET max_threads = 3")
    client.execute("CREATE DATABASE IF NOT EXISTS driver_db")
    client.execute("USE driver_db")
    found = client.execute("SELECT getSetting('max_threads'), currentDatabase()")
    client.execute("USE default")
    return found


def wrong_password():
    try:
        Client(**{**address, "password": "wrong"}).execute("SELECT 1")
    except ServerException as error:
        return error.code
    return 0


def unknown_database():
    client = Client(**address, database="nowhere")
    return code_of(client, "SELECT 1")


def bad_insert(client):
    client.execute("DROP TABLE IF EXISTS driver_bad")
    client.execute("CREATE TABLE driver_bad (n UInt8, CONSTRAINT c CHECK n < 10) ENGINE = MergeTree ORDER BY n")
    code = code_of(client, "INSERT INTO driver_bad VALUES", [(i % 100,) for i in range(1000)])
    return code, client.execute("SELECT count() FROM driver_bad")


def progress(client):
    followed = client.execute_with_progress("SELECT sum(number) FROM numbers(1000000)")
    return followed.get_result()


totals = "SELECT number % 2 AS a, count() FROM numbers(3) GROUP BY a WITH TOTALS ORDER BY a"
for compression in (False, "lz4", "lz4hc", "zstd"):
    client = Client(**address, compression=compression)
    mode = compression or "none"
    if compression is False:
        for type_name, values in types:
            check(f"type {type_name}", lambda: round_trip(client, type_name, values), values)
    check(f"{mode}: 200,000 rows", lambda: many_rows(client), [(200_000, 19_999_900_000)])
    check(f"{mode}: blocks", lambda: sum(r[0] for r in client.execute_iter("SELECT a FROM default.driver_rows")), 19_999_900_000)
    check(f"{mode}: external table", lambda: external(client), [3, 3, 3])
    check(f"{mode}: session", lambda: session(client), [(3, "driver_db")])
    check(f"{mode}: totals", lambda: client.execute(totals), [(0, 2), (1, 1), (0, 3)])
    check(f"{mode}: error", lambda: code_of(client, "SELECT * FROM nowhere"), 60)
    check(f"{mode}: error before an insert", lambda: code_of(client, "INSERT INTO nowhere VALUES", [(1,)]), 60)
    check(f"{mode}: error amid an insert", lambda: bad_insert(client), (469, [(0,)]))
    check(f"{mode}: after errors", lambda: client.execute("SELECT 1"), [(1,)])
    for type_name, values in types:
        check(f"{mode}: temporary {type_name}", lambda: round_trip(client, type_name, values, "TEMPORARY"), values)
    check(f"{mode}: 200,000 temporary rows", lambda: many_rows(client, "TEMPORARY"), [(200_000, 19_999_900_000)])
    client.disconnect()

client = Client(**address, settings={"max_block_size": 10, "send_logs_level": "trace", "server_side_params": True})
check("settings", lambda: client.execute("SELECT getSetting('max_block_size')"), [(10,)])
check("parameters of the server", lambda: client.execute("SELECT {x:Int32}, {y:String}", {"x": 5, "y": "it's"}), [(5, "it's")])
check("progress", lambda: progress(client), [(499_999_500_000,)])
check("wrong password", wrong_password, 516)
check("unknown database", unknown_database, 81)
check("not available", lambda: code_of(client, "SELECT * FROM file('x')"), 497)
print("done")
