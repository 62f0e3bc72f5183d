"""clickhouse-connect, unchanged, against a gateway: python connect.py HOST PORT PASSWORD. Exits 0 when all is well."""
import sys
import threading
import time

import clickhouse_connect
from clickhouse_connect.driver.exceptions import DatabaseError

host, port, password = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def connect(**options):
    given = {"username": "default", "password": password, **options}
    return clickhouse_connect.get_client(host=host, port=port, **given)


client = connect()
assert client.ping()
client.command("CREATE OR REPLACE TABLE py (a UInt64, s String, t DateTime) ENGINE = MergeTree ORDER BY a")

rows = [[i, f"row {i}\n\n", 1_700_000_000 + i] for i in range(10_000)]
for compress in ("lz4", "zstd", "gzip", False):
    packed = connect(compress=compress)
    summary = packed.insert("py", rows, column_names=["a", "s", "t"])
    assert summary.written_rows == len(rows), summary.summary
    result = packed.query("SELECT a, s FROM py ORDER BY a LIMIT 5 BY s")
    assert len(result.result_rows) >= len(rows), (compress, len(result.result_rows))
assert client.query("SELECT count() FROM py").result_rows == [(40_000,)]

stream = client.query_row_block_stream("SELECT number, toString(number) FROM numbers(500000)")
with stream:
    assert sum(len(block) for block in stream) == 500_000

params = {"list": ["it's", "tab\there"], "n": 7}
result = client.query("SELECT {list:Array(String)}, {n:UInt8}", parameters=params)
assert result.result_rows == [(["it's", "tab\there"], 7)], result.result_rows

waits = {"async_insert": 1, "wait_for_async_insert": 1}
joined = [client.raw_insert("py", ["a", "s", "t"], b"1,joined,2024-01-01 00:00:00", fmt="CSV", settings=waits)]
joined.append(client.insert("py", [[2, "joined", 0]], column_names=["a", "s", "t"], settings=waits))
assert [summary.written_rows for summary in joined] == [1, 1], joined
assert client.command("SELECT count() FROM py WHERE s = 'joined'") == 2

client.command("CREATE OR REPLACE TABLE joined (a UInt64) ENGINE = MergeTree ORDER BY a")
held = {**waits, "async_insert_use_adaptive_busy_timeout": 0, "async_insert_busy_timeout_ms": 2000}
senders = [
    threading.Thread(target=lambda i=i: connect().insert("joined", [[i]], column_names=["a"], settings=held))
    for i in range(20)
]
for sender in senders:
    sender.start()
for sender in senders:
    sender.join()
made = client.query("SELECT (SELECT count() FROM joined), max(max_block_number) FROM system.parts WHERE table = 'joined'")
assert made.result_rows[0][0] == 20 and made.result_rows[0][1] < 20, made.result_rows

raw = "\n".join(f"{i},raw,2024-01-01 00:00:00" for i in range(1000)).encode()
client.raw_insert("py", ["a", "s", "t"], raw, fmt="CSV")
assert client.command("SELECT count() FROM py WHERE s = 'raw'") == 1000

session = connect(session_id="py-session")
session.command("CREATE TEMPORARY TABLE tt (a Int32)")
session.insert("tt", [[1], [2]], column_names=["a"])
assert session.command("SELECT sum(a) FROM tt") == 3

for statement, code in (("SELECT * FROM nothing", "60"), ("SELECT throwIf(number = 3000000) FROM numbers(4000000)", "395")):
    try:
        client.query(statement).result_rows
        raise SystemExit(f"no error from {statement}")
    except DatabaseError as error:
        assert code in str(error) or "throwIf" in str(error), error

try:
    connect(password="wrong")
    raise SystemExit("a wrong password was accepted")
except DatabaseError as error:
    assert "516" in str(error) or "AUTHENTICATION_FAILED" in str(error), error

reader = connect(username="reader", password="reader")
assert reader.command("SELECT 1") == 1
try:
    reader.command("DROP TABLE py")
    raise SystemExit("a reader dropped a table")
except DatabaseError as error:
    assert "164" in str(error) or "READONLY" in str(error), error


def slow():
    try:
        connect(session_id="slow").query("SELECT sleepEachRow(0.1) FROM numbers(300) SETTINGS max_block_size = 1", settings={"query_id": "py-slow"})
    except DatabaseError:
        killed.set()


killed = threading.Event()
threading.Thread(target=slow, daemon=True).start()
time.sleep(1)
client.command("KILL QUERY WHERE query_id = 'py-slow'")
assert killed.wait(5), "KILL QUERY did not end the query"
print("clickhouse-connect", clickhouse_connect.__version__, "ok")
