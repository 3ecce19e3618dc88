"""Writes with the classic API, and changes of one row that read it."""

import random
import struct
import threading
import time

from google.cloud.bigtable import row_filters
from google.cloud.bigtable.table import DEFAULT_RETRY
from google.rpc import code_pb2

from classic_tools import (
    at,
    cells_of,
    checks,
    fill,
    keys_of,
    made,
    put,
)
from common import (
    LARGE_BYTES,
    LARGE_BYTES_OF_LIBRARY,
    holds,
    same,
)
from stubs import expect_divided

# --- writes --------------------------------------------------------------------------------------


@checks.check
def a_row_is_written_and_read(instance):
    table = made(instance, "row", ["stats", "raw"])
    before = time.time_ns() // 1000
    row = table.direct_row(b"phone#4c410523#20190501")
    row.set_cell("stats", b"connected_cell", 1)
    row.set_cell("stats", "os_build", "PQ2A.190405.003", timestamp=at(5000))
    row.set_cell("raw", b"\x00\xff", b"\x00" * 3, timestamp=at(0))
    same(row.commit().code, code_pb2.OK, "status")
    got = table.read_row(b"phone#4c410523#20190501")
    same(got.cell_value("stats", b"connected_cell"), struct.pack(">q", 1), "number")
    holds(
        before - 60_000_000 <= got.cells["stats"][b"connected_cell"][0].timestamp_micros,
        "the clock's timestamp",
    )
    same(
        sorted(cells_of(got))[0],
        (b"phone#4c410523#20190501", "raw", b"\x00\xff", 0, b"\x00" * 3, []),
        "bytes",
    )
    same(got.cells["stats"][b"os_build"][0].timestamp_micros, 5000, "timestamp")
    same(table.read_row(b"phone"), None, "a row that is not there")


@checks.check
def deletes_take_what_they_name(instance):
    table = made(instance, "deletes", ["stats", "raw"])
    cells = [
        ("stats", b"a", 3000, b"3"),
        ("stats", b"a", 2000, b"2"),
        ("stats", b"a", 1000, b"1"),
        ("stats", b"b", 1000, b"b"),
        ("raw", b"c", 1000, b"c"),
    ]
    put(table, b"r", cells)
    row = table.direct_row(b"r")
    row.delete_cell("stats", b"a", time_range=row_filters.TimestampRange(at(1000), at(3000)))
    row.commit()
    same(
        [cell[1:5] for cell in sorted(cells_of(table.read_row(b"r")), key=lambda c: c[1:3])],
        [("raw", b"c", 1000, b"c"), ("stats", b"a", 3000, b"3"), ("stats", b"b", 1000, b"b")],
        "after a range of versions",
    )
    row.delete_cells("stats", [b"b"])
    row.commit()
    row.delete_cells("raw", row.ALL_COLUMNS)
    row.commit()
    same([cell[1:3] for cell in cells_of(table.read_row(b"r"))], [("stats", b"a")], "left")
    row.delete()
    row.commit()
    same(table.read_row(b"r"), None, "after the row")


@checks.check
def changes_of_a_row_are_in_order_and_whole(instance):
    table = made(instance, "atomic")
    row = table.direct_row(b"r")
    row.set_cell("stats", b"a", b"1", timestamp=at(1000))
    row.delete()
    row.set_cell("stats", b"b", b"2", timestamp=at(1000))
    row.commit()
    same([cell[2] for cell in cells_of(table.read_row(b"r"))], [b"b"], "columns")
    row.set_cell("stats", b"c", b"3")
    row.set_cell("no-such-family", b"d", b"4")
    same(row.commit().code, code_pb2.NOT_FOUND, "status of an unknown family")
    same([cell[2] for cell in cells_of(table.read_row(b"r"))], [b"b"], "columns after a refusal")


@checks.check
def bulk_writes_say_which_row_failed(instance):
    table = made(instance, "bulk")
    rows = []
    for number in range(100):
        row = table.direct_row(b"r%03d" % number)
        row.set_cell("none" if number % 10 == 3 else "stats", b"n", b"%d" % number)
        rows.append(row)
    codes = [status.code for status in table.mutate_rows(rows)]
    wanted = [code_pb2.NOT_FOUND if n % 10 == 3 else code_pb2.OK for n in range(100)]
    same(codes, wanted, "statuses")
    same(
        keys_of(table.read_rows()),
        [b"r%03d" % n for n in range(100) if n % 10 != 3],
        "rows that are there",
    )


@checks.check
def a_batcher_writes_everything(instance):
    table = made(instance, "batcher")
    with table.mutations_batcher(flush_count=500) as batcher:
        for number in range(5000):
            row = table.direct_row(b"r%05d" % number)
            row.set_cell("stats", b"n", b"%d" % number)
            batcher.mutate(row)
    same(keys_of(table.read_rows()), [b"r%05d" % n for n in range(5000)], "rows")


@checks.check
def large_cells_come_back_whole(instance):
    table = made(instance, "large")
    big = {b"k%d" % n: random.Random(n).randbytes(LARGE_BYTES_OF_LIBRARY) for n in range(2)}
    for key, value in big.items():
        row = table.direct_row(key)
        row.set_cell("stats", b"big", value, timestamp=at(1000))
        row.set_cell("stats", b"small", b"beside", timestamp=at(1000))
        same(row.commit().code, code_pb2.OK, "status")
    fill(table, [b"k", b"k00", b"k2"])
    seen = {row.row_key: row for row in table.read_rows()}
    same(list(seen), [b"k", b"k0", b"k00", b"k1", b"k2"], "rows")
    for key, value in big.items():
        holds(seen[key].cell_value("stats", b"big") == value, f"{key}: other bytes")
        same(seen[key].cell_value("stats", b"small"), b"beside", "small cell")


@checks.check
def a_cell_of_20_megabytes_is_divided_over_chunks(instance):
    table = made(instance, "divided")
    value = random.Random(2).randbytes(LARGE_BYTES)
    put(table, b"r", [("stats", b"big", 1000, value)])
    expect_divided(table.table_id, b"r", value)


@checks.check
def a_write_past_its_deadline_is_told_so(instance):
    """What became of the rows is not known then: they may be there, whole."""
    table = made(instance, "deadline")
    rows = [table.direct_row(b"r%03d" % n) for n in range(100)]
    for row in rows:
        row.set_cell("stats", b"n", b"v" * 100_000, timestamp=at(1000))
    statuses = table.mutate_rows(rows, retry=DEFAULT_RETRY.with_deadline(0.02), timeout=0.001)
    same({status.code for status in statuses}, {code_pb2.DEADLINE_EXCEEDED}, "statuses")
    fill(table, [b"s"])
    same(table.read_row(b"s").row_key, b"s", "a write after it")


# --- one row, atomically -------------------------------------------------------------------------


@checks.check
def conditional_writes_take_one_branch(instance):
    table = made(instance, "conditional")
    has = row_filters.ValueRegexFilter(b"yes")
    for wanted, value in ((False, b"no"), (True, b"yes")):
        put(table, b"r", [("stats", b"c", 1000, value)])
        row = table.conditional_row(b"r", has)
        row.set_cell("stats", b"then", b"1", timestamp=at(1000), state=True)
        row.set_cell("stats", b"else", b"1", timestamp=at(1000), state=False)
        same(row.commit(), wanted, "matched")
    row = table.conditional_row(b"r", has)
    row.delete_cell("stats", b"else", state=True)
    same(row.commit(), True, "matched")
    same([cell[2] for cell in cells_of(table.read_row(b"r"))], [b"c", b"then"], "columns")


@checks.check
def appends_and_increments(instance):
    table = made(instance, "append")
    row = table.append_row(b"r")
    row.append_cell_value("stats", b"log", b"one,")
    row.increment_cell_value("stats", b"count", 3)
    row.append_cell_value("stats", b"log", b"two")
    row.increment_cell_value("stats", b"count", -5)
    fill(table, [b"r"])
    got = row.commit()
    same(sorted(got["stats"]), [b"count", b"log"], "columns of the answer: those changed")
    same(got["stats"][b"log"][0][0], b"one,two", "log")
    same(got["stats"][b"count"][0][0], struct.pack(">q", -2), "count")
    same(table.read_row(b"r").cell_value("stats", b"count"), struct.pack(">q", -2), "stored")


@checks.check
def increments_of_many_threads_add_up(instance):
    table = made(instance, "threads")

    def add():
        for _ in range(25):
            row = table.append_row(b"r")
            row.increment_cell_value("stats", b"count", 1)
            row.commit()

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(table.read_row(b"r").cell_value("stats", b"count"), struct.pack(">q", 200), "count")
