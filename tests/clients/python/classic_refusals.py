"""What the classic API is refused, and how it says so."""

import time

from google.rpc import code_pb2

from classic_tools import (
    at,
    checks,
    fill,
    keys_of,
    made,
    put,
    tables,
    write,
)
from common import (
    HASTY,
    INSTANCE,
    OWED_ROWS,
    PATIENT,
    bigtable_admin_v2,
    classic_client,
    eventually,
    exceptions,
    holds,
    key_of,
    refused,
    same,
)

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
        ).result(timeout=100)

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


def owe(table):
    """One bulk that is larger than the rate passes on credit; for seconds nothing else does."""
    keys = [b"first%03d" % n for n in range(OWED_ROWS)]
    eventually(lambda: write(table, keys) == {code_pb2.OK}, 60, "a bulk on credit")


@checks.check
def rows_beyond_a_rate_are_written_later(instance):
    """Bulks are not retried by this API, nor is the RetryInfo of a call handed out: the program
    tries again by a clock of its own."""
    table = made(classic_client(project=HASTY).instance(INSTANCE), "hasty")
    owe(table)
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
    same(keys_of(table.read_rows(start_key=b"r")), [row.row_key for row in rows], "rows")


@checks.check
def appends_beyond_a_rate_are_tried_again(instance):
    """The retry of this library, around calls that raise what they are refused."""
    table = made(classic_client(project=HASTY).instance(INSTANCE), "appends")
    owe(table)
    refusals = []

    def commit(row):
        try:
            row.commit()
        except exceptions.ResourceExhausted as refusal:
            refusals.append(refusal)
            raise

    for _ in range(20):
        row = table.append_row(b"log")
        row.append_cell_value("stats", b"log", b".")
        PATIENT(commit)(row)
    holds(refusals, "a tenant that owes seconds of writes was not refused")
    same(table.read_row(b"log").cell_value("stats", b"log"), b"." * 20, "log")
