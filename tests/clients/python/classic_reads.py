"""Reads with the classic API: ranges, filters, long scans."""

import time
from functools import partial

from google.cloud.bigtable import row_filters
from google.cloud.bigtable.row_data import DEFAULT_RETRY_READ_ROWS
from google.cloud.bigtable.row_set import RowRange, RowSet

import filters
from classic_tools import (
    Build,
    at,
    cells_of,
    checks,
    fill,
    keys_of,
    made,
    put,
    tables,
)
from common import (
    KEYS,
    SCAN_ROWS,
    SCAN_VALUE,
    exceptions,
    holds,
    refused,
    same,
    scan_key,
)
from stubs import expect_backwards

# --- reads ---------------------------------------------------------------------------------------


def in_range(table, *arguments, **options):
    rows = RowSet()
    rows.add_row_range(RowRange(*arguments, **options))
    return keys_of(table.read_rows(row_set=rows))


@checks.check
def ranges_prefixes_and_keys(instance):
    table = made(instance, "ranges")
    fill(table, KEYS)
    same(keys_of(table.read_rows()), KEYS, "all")
    same(keys_of(table.read_rows(start_key=b"a#1", end_key=b"b")), KEYS[1:4], "half open")
    same(
        keys_of(table.read_rows(start_key=b"a#1", end_key=b"b", end_inclusive=True)),
        KEYS[1:5],
        "closed",
    )
    same(in_range(table, b"a", b"b", start_inclusive=False), KEYS[1:4], "open start")
    same(in_range(table, b"c\x00"), KEYS[6:], "without end")
    same(in_range(table, end_key=b"a#2"), KEYS[:2], "without start")
    same(keys_of(table.read_rows(limit=3)), KEYS[:3], "limit")
    rows = RowSet()
    rows.add_row_range_with_prefix("a#")
    same(keys_of(table.read_rows(row_set=rows)), KEYS[1:3], "prefix")
    rows = RowSet()
    for key in (b"\xff", b"a#2", b"nowhere", b"a#2"):
        rows.add_row_key(key)
    rows.add_row_range_from_keys(start_key=b"a#1", end_key=b"a$")
    rows.add_row_range_from_keys(start_key=b"a#2", end_key=b"b#", end_inclusive=True)
    same(keys_of(table.read_rows(row_set=rows)), [*KEYS[1:5], b"\xff"], "overlapping parts")
    same(keys_of(table.read_rows(row_set=rows, limit=2)), KEYS[1:3], "overlap, limit")


@checks.check
def a_reversed_read_is_backwards(instance):
    """This API has no word for it; the protocol does."""
    table = made(instance, "reversed")
    fill(table, KEYS)
    put(table, b"b", [("stats", b"n", 2000, b"2")])
    expect_backwards(table.table_id, KEYS, b"b")


def filtered(name, row_filter, wanted):
    def run(instance):
        rows = tables["filtered"].read_rows(filter_=row_filter)
        filters.same_cells([cell for row in rows for cell in cells_of(row)], wanted)

    checks.case(f"filter_{name}", run)


def refused_filter(name, row_filter):
    def run(instance):
        with refused(exceptions.InvalidArgument):
            list(tables["filtered"].read_rows(filter_=row_filter))

    checks.case(f"filter_refused_{name}", run)


@checks.check
def filters_have_rows(instance):
    table = made(instance, "filters", filters.FAMILIES)
    for key, family, column, micros, value in filters.CELLS:
        put(table, key, [(family, column, micros, value)])
    tables["filtered"] = tables.pop(table.table_id)


@checks.check
def every_filter_is_tried(_instance):
    filters.expect_every_kind(row_filters, Build)


for case in filters.cases(row_filters, Build):
    filtered(*case)
for case in filters.refused_cases(row_filters, Build):
    refused_filter(*case)


@checks.check
def filter_row_sample(instance):
    table = made(instance, "sample")
    fill(table, [b"r%04d" % n for n in range(2000)])
    keys = keys_of(table.read_rows(filter_=row_filters.RowSampleFilter(0.5)))
    holds(700 < len(keys) < 1300, f"{len(keys)} rows of 2000 at 0.5")
    same(keys, sorted(set(keys)), "order")


# --- long scans ----------------------------------------------------------------------------------


def scan_table(instance):
    """SCAN_ROWS rows, written when first asked for."""
    if "scan" not in tables:
        table = made(instance, "scan")
        with table.mutations_batcher(flush_count=2000) as batcher:
            for number in range(SCAN_ROWS):
                row = table.direct_row(scan_key(number))
                row.set_cell("stats", b"v", SCAN_VALUE, timestamp=at(1000))
                batcher.mutate(row)
        tables["scan"] = tables.pop(table.table_id)
    return tables["scan"]


@checks.check
def a_slow_reader_gets_every_row(instance):
    expected = 0
    for row in scan_table(instance).read_rows():
        if expected in (1, SCAN_ROWS // 2):
            time.sleep(2)
        elif expected % 500 == 0:
            time.sleep(0.01)
        same(row.row_key, scan_key(expected), "key")
        holds(row.cell_value("stats", b"v") == SCAN_VALUE, f"value of row {expected}")
        expected += 1
    same(expected, SCAN_ROWS, "rows")


def with_deadlines(attempt):
    """Of growing deadlines, one leaves time for a first row on any machine."""
    for seconds in (0.5, 5):
        try:
            return attempt(seconds)
        except (exceptions.DeadlineExceeded, exceptions.RetryError):
            pass
    return attempt(60)


@checks.check
def a_scan_whose_attempts_time_out_is_resumed(instance):
    """The deadline is one attempt's: the client asks again for what is missing."""
    table = scan_table(instance)

    def resumed(seconds):
        brief = DEFAULT_RETRY_READ_ROWS.with_deadline(seconds)
        started = time.monotonic()
        scan = table.read_rows(retry=brief)
        for expected, row in enumerate(scan):
            same(row.row_key, scan_key(expected), "key")
            if expected % 1000 == 0:
                time.sleep(seconds / 5)
            if time.monotonic() - started > seconds + 2.5:
                break
        holds(time.monotonic() - started > seconds + 1.5, "too fast for a deadline")
        scan.cancel()

    with_deadlines(resumed)


@checks.check
def abandoned_scans_leave_the_server_well(instance):
    """Over TLS the client waits, in cancel, for its attempt to time out."""
    table = scan_table(instance)

    def abandon(turn, seconds):
        brief = DEFAULT_RETRY_READ_ROWS.with_deadline(seconds)
        scan = table.read_rows(start_key=scan_key(turn), retry=brief)
        same(next(iter(scan)).row_key, scan_key(turn), "first row")
        scan.cancel()

    for turn in range(4):
        with_deadlines(partial(abandon, turn))
    same(keys_of(table.read_rows(limit=5)), [scan_key(n) for n in range(5)], "a read after them")
