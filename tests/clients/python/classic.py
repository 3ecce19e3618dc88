"""google.cloud.bigtable.Client, the table API that most Python programs were written with."""

import datetime
import random
import struct
import sys
import threading
import time

from google.cloud.bigtable import column_family, row_filters
from google.cloud.bigtable.row_data import DEFAULT_RETRY_READ_ROWS
from google.cloud.bigtable.row_set import RowRange, RowSet
from google.rpc import code_pb2

import filters
from common import (
    HASTY,
    INSTANCE,
    LARGE_BYTES,
    PROJECT,
    SCAN_ROWS,
    SCAN_VALUE,
    Checks,
    bigtable_admin_v2,
    classic_client,
    eventually,
    exceptions,
    holds,
    new_table_id,
    refused,
    same,
    scan_key,
)

checks = Checks("python-classic")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
tables = {}


def at(micros):
    return EPOCH + datetime.timedelta(microseconds=micros)


class Build:
    """Filters whose constructors are this API's own."""

    @staticmethod
    def columns(family, start=None, end=None, start_in=None, end_in=None):
        return row_filters.ColumnRangeFilter(family, start, end, start_in, end_in)

    @staticmethod
    def times(start, end):
        return row_filters.TimestampRangeFilter(
            row_filters.TimestampRange(at(start), at(end) if end else None)
        )

    literal = row_filters.ExactValueFilter
    condition = row_filters.ConditionalRowFilter


def made(instance, subject, families=("stats",), splits=()):
    """A table as users make it; dropped at the end of the program."""
    table = instance.table(new_table_id(f"classic-{subject}"))
    if not isinstance(families, dict):
        families = {name: None for name in families}
    table.create(initial_split_keys=list(splits), column_families=families)
    tables[table.table_id] = table
    return table


def put(table, key, cells):
    """cells: (family, qualifier, micros, value)"""
    row = table.direct_row(key)
    for family, qualifier, micros, value in cells:
        row.set_cell(family, qualifier, value, timestamp=at(micros))
    same(row.commit().code, code_pb2.OK, "status of a write")


def cells_of(row):
    return [
        (row.row_key, family, qualifier, cell.timestamp_micros, cell.value, cell.labels)
        for family, columns in row.cells.items()
        for qualifier, cells in columns.items()
        for cell in cells
    ]


def keys_of(rows):
    return [row.row_key for row in rows]


def fill(table, keys, value=b"1"):
    rows = []
    for key in keys:
        row = table.direct_row(key)
        row.set_cell("stats", b"n", value, timestamp=at(1000))
        rows.append(row)
    statuses = table.mutate_rows(rows)
    same({status.code for status in statuses}, {code_pb2.OK}, "statuses of a bulk write")


# --- tables --------------------------------------------------------------------------------------


@checks.check
def gc_rules_come_back(instance):
    age = column_family.MaxAgeGCRule(datetime.timedelta(days=7))
    versions = column_family.MaxVersionsGCRule(3)
    rules = {
        "versions": versions,
        "age": age,
        "either": column_family.GCRuleUnion([age, versions]),
        "both": column_family.GCRuleIntersection([age, versions]),
        "nested": column_family.GCRuleUnion(
            [versions, column_family.GCRuleIntersection([age, column_family.MaxVersionsGCRule(1)])]
        ),
        "all": None,
    }
    table = made(instance, "gc", rules)
    holds(table.exists(), "the table does not exist")
    families = table.list_column_families()
    same({name: family.gc_rule for name, family in families.items()}, rules, "rules")


@checks.check
def families_are_added_changed_and_dropped(instance):
    table = made(instance, "families", ["stats", "gone"])
    put(table, b"r", [("stats", b"c", 1000, b"kept"), ("gone", b"c", 1000, b"dropped")])
    added = table.column_family("added", gc_rule=column_family.MaxVersionsGCRule(1))
    added.create()
    changed = table.column_family("added", gc_rule=column_family.MaxVersionsGCRule(2))
    changed.update()
    table.column_family("gone").delete()
    families = table.list_column_families()
    same(sorted(families), ["added", "stats"], "families")
    same(families["added"].gc_rule, column_family.MaxVersionsGCRule(2), "rule")
    same([cell[1] for cell in cells_of(table.read_row(b"r"))], ["stats"], "families of the row")


@checks.check
def versions_beyond_the_rule_are_not_kept(instance):
    table = made(instance, "versions", {"stats": column_family.MaxVersionsGCRule(2)})
    for micros in (1000, 2000, 3000):
        put(table, b"r", [("stats", b"c", micros, b"%d" % micros)])
    eventually(
        lambda: [cell[4] for cell in cells_of(table.read_row(b"r"))] == [b"3000", b"2000"],
        10,
        "two versions",
    )


@checks.check
def tables_are_listed_and_deleted(instance):
    table = made(instance, "listed")
    holds(table.table_id in [one.table_id for one in instance.list_tables()], "it is not listed")
    tables.pop(table.table_id).delete()
    holds(not table.exists(), "it exists after the delete")
    holds(table.table_id not in [one.table_id for one in instance.list_tables()], "still listed")


@checks.check
def the_instance_is_there(instance):
    client = instance._client
    holds(instance.exists(), "the instance does not exist")
    instance.reload()
    listed, failed = client.list_instances()
    same(([one.instance_id for one in listed], list(failed)), ([INSTANCE], []), "instances")
    clusters, _ = instance.list_clusters()
    holds(len(clusters) >= 1, "no cluster")
    holds(not client.instance("no-such-instance").exists(), "an unknown instance exists")


@checks.check
def replication_is_ready(instance):
    states = made(instance, "states").get_cluster_states()
    same({repr(state) for state in states.values()}, {"READY"}, "states")


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
    big = {b"k%d" % n: random.Random(n).randbytes(LARGE_BYTES) for n in range(2)}
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


# --- reads ---------------------------------------------------------------------------------------

KEYS = [b"a", b"a#1", b"a#2", b"a$", b"b", b"b#1", b"c\x00", b"c\x00\x00", b"\xff", b"\xff\xff"]


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


# --- samples, drops ------------------------------------------------------------------------------


@checks.check
def samples_of_a_new_table_are_its_splits(instance):
    table = made(instance, "splits", splits=[b"g", b"p"])
    samples = list(table.sample_row_keys())
    same([sample.row_key for sample in samples], [b"g", b"p", b""], "keys")
    offsets = [sample.offset_bytes for sample in samples]
    same(offsets, sorted(offsets), "offsets")


@checks.check
def drops_by_prefix_take_that_prefix(instance):
    table = made(instance, "drop")
    fill(table, KEYS)
    table.drop_by_prefix(b"a#", timeout=200)
    same(keys_of(table.read_rows()), [key for key in KEYS if not key.startswith(b"a#")], "left")
    fill(table, [b"a#1"])
    same(table.read_row(b"a#1").row_key, b"a#1", "written after the drop")
    table.drop_by_prefix(b"\xff", timeout=200)
    same(keys_of(table.read_rows())[-1], b"c\x00\x00", "last key")
    table.truncate(timeout=200)
    same(keys_of(table.read_rows()), [], "after truncate")
    holds(table.exists(), "the table went with its rows")


# --- refusals ------------------------------------------------------------------------------------


@checks.check
def unknown_table_is_not_found(instance):
    table = instance.table("no-such-table")
    holds(not table.exists(), "it exists")
    with refused(exceptions.NotFound):
        table.read_row(b"r")
    with refused(exceptions.NotFound):
        table.delete()
    with refused(exceptions.NotFound):
        list(table.sample_row_keys())
    row = table.direct_row(b"r")
    row.set_cell("stats", b"c", b"1")
    same(row.commit().code, code_pb2.NOT_FOUND, "status of a write")


@checks.check
def a_second_table_of_the_name_already_exists(instance):
    table = made(instance, "twice")
    with refused(exceptions.AlreadyExists):
        table.create(column_families={"stats": None})
    with refused(exceptions.AlreadyExists):
        table.column_family("stats").create()


@checks.check
def bad_arguments_are_invalid(instance):
    table = made(instance, "invalid")
    with refused(exceptions.InvalidArgument):
        instance.table("a table").create()
    with refused(exceptions.InvalidArgument):
        table.column_family("a:family").create()
    for key in (b"", b"k" * 4097):
        row = table.direct_row(key)
        row.set_cell("stats", b"c", b"1")
        same(row.commit().code, code_pb2.INVALID_ARGUMENT, f"key of {len(key)} bytes")
    row = table.direct_row(b"r")
    row.set_cell("stats", b"q" * (16 * 1024 + 1), b"1")
    same(row.commit().code, code_pb2.INVALID_ARGUMENT, "qualifier of 16 KiB and a byte")
    row.set_cell("stats", b"q" * (16 * 1024), b"1")
    same(row.commit().code, code_pb2.OK, "qualifier of 16 KiB")
    fill(table, [b"k" * 4096])
    same(len(keys_of(table.read_rows())), 2, "rows")


@checks.check
def increments_need_eight_bytes(instance):
    table = made(instance, "seven")
    put(table, b"r", [("stats", b"c", 1000, b"1234567"), ("stats", b"d", 1000, b"d")])
    row = table.append_row(b"r")
    row.append_cell_value("stats", b"d", b"more")
    row.increment_cell_value("stats", b"c", 1)
    with refused(exceptions.FailedPrecondition):
        row.commit()
    same(table.read_row(b"r").cell_value("stats", b"d"), b"d", "the other column")


@checks.check
def a_protected_table_is_not_deleted(instance):
    table = made(instance, "protected")
    admin = instance._client.table_admin_client

    def protect(wanted):
        admin.update_table(
            request={
                "table": bigtable_admin_v2.Table(name=table.name, deletion_protection=wanted),
                "update_mask": {"paths": ["deletion_protection"]},
            }
        ).result(timeout=30)

    protect(True)
    with refused(exceptions.FailedPrecondition):
        table.delete()
    protect(False)
    tables.pop(table.table_id).delete()


@checks.over_tls
def a_made_up_key_is_unauthenticated(instance):
    stranger = classic_client(key="btt_" + "0" * 55).instance(INSTANCE)
    with refused(exceptions.Unauthenticated):
        stranger.table("any").read_row(b"r")
    with refused(exceptions.Unauthenticated):
        stranger.list_tables()


@checks.over_tls
def a_key_without_the_scope_is_denied(instance):
    from common import key_of

    table = made(instance, "scope")
    fill(table, [b"r"])
    reader = classic_client(key=key_of("acme-reader")).instance(INSTANCE)
    same(reader.table(table.table_id).read_row(b"r").row_key, b"r", "what it may read")
    row = reader.table(table.table_id).direct_row(b"r")
    row.set_cell("stats", b"c", b"1")
    same(row.commit().code, code_pb2.PERMISSION_DENIED, "status of a write")
    with refused(exceptions.PermissionDenied):
        reader.table(table.table_id).delete()


# --- quotas --------------------------------------------------------------------------------------


@checks.check
def rows_beyond_a_rate_are_written_later(instance):
    """This API neither retries RESOURCE_EXHAUSTED nor hands out the RetryInfo of a call: the program
    tries again by a clock of its own."""
    table = made(classic_client(project=HASTY).instance(INSTANCE), "hasty")
    rows = [table.direct_row(b"r%03d" % n) for n in range(250)]
    for row in rows:
        row.set_cell("stats", b"c", b"1", timestamp=at(1000))
    refusals = 0
    end = time.monotonic() + 60
    for start in range(0, 250, 50):
        pending = rows[start : start + 50]
        while pending:
            holds(time.monotonic() < end, f"{start} rows, {refusals} refusals after 60 s")
            statuses = table.mutate_rows(pending)
            codes = {status.code for status in statuses}
            holds(codes <= {code_pb2.OK, code_pb2.RESOURCE_EXHAUSTED}, f"codes {codes}")
            refusals += code_pb2.RESOURCE_EXHAUSTED in codes
            pending = [row for row, status in zip(pending, statuses, strict=True) if status.code]
            time.sleep(0.1 if pending else 0)
    holds(refusals > 0, "a limit of 100 a second was never reached")
    same(len(keys_of(table.read_rows())), 250, "rows")


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
        elif expected % 1000 == 0:
            time.sleep(0.01)
        same(row.row_key, scan_key(expected), "key")
        holds(row.cell_value("stats", b"v") == SCAN_VALUE, f"value of row {expected}")
        expected += 1
    same(expected, SCAN_ROWS, "rows")


@checks.check
def a_scan_whose_attempts_time_out_is_resumed(instance):
    """The deadline is one attempt's: the client asks again for what is missing."""
    brief = DEFAULT_RETRY_READ_ROWS.with_deadline(0.5)
    started = time.monotonic()
    scan = scan_table(instance).read_rows(retry=brief)
    for expected, row in enumerate(scan):
        same(row.row_key, scan_key(expected), "key")
        if expected % 1000 == 0:
            time.sleep(0.1)
        if time.monotonic() - started > 3:
            break
    holds(time.monotonic() - started > 2, "too fast for a deadline")
    scan.cancel()


@checks.check
def abandoned_scans_leave_the_server_well(instance):
    """Over TLS the client waits, in cancel, for its attempt to time out."""
    table = scan_table(instance)
    brief = DEFAULT_RETRY_READ_ROWS.with_deadline(1.0)
    for turn in range(4):
        scan = table.read_rows(start_key=scan_key(turn), retry=brief)
        same(next(iter(scan)).row_key, scan_key(turn), "first row")
        scan.cancel()
    same(keys_of(table.read_rows(limit=5)), [scan_key(n) for n in range(5)], "a read after them")


def main():
    instance = classic_client().instance(INSTANCE)
    same(instance.name, f"projects/{PROJECT}/instances/{INSTANCE}", "instance")
    status = checks.run(instance)
    for table in tables.values():
        table.delete()
    return status


if __name__ == "__main__":
    sys.exit(main())
