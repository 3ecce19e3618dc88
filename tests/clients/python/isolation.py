"""Two tenants, acme and acme-eu, with tables of the same name: neither may learn of the other.

One check for each place where a key, a count or a size could leak. Unless it says otherwise a check
looks from both sides. Messages are sent as they are, by the generated client: some of them no
friendly client would send.
"""

import contextlib
import sys

from common import (
    INSTANCE,
    OTHER_PROJECT,
    PROJECT,
    Checks,
    bigtable_admin_v2,
    bigtable_v2,
    exceptions,
    features,
    holds,
    instance_name,
    key_of,
    login,
    new_table_id,
    raw_client,
    refused,
    same,
    table_admin,
    table_name,
)

checks = Checks("python-isolation")
MUTATION = bigtable_v2.types.Mutation
SMALL = 8_000
TABLE = new_table_id("shared")
ABSENT = "nobody-lives-here"
UNDERSTOOD = features(reverse_scans=True, last_scanned_row_responses=True)


class Tenant:
    """One side. Its cells hold its own name, and no key but "same" is in both tables."""

    def __init__(self, project, keys, value_bytes):
        self.project = project
        self.raw = raw_client(project)
        self.admin = table_admin(project)
        self.table = table_name(TABLE, project)
        self.value = project.encode().ljust(value_bytes, b".")
        self.keys = sorted([*keys, b"same"])

    def make(self):
        self.admin.create_table(
            parent=instance_name(self.project),
            table_id=TABLE,
            table=bigtable_admin_v2.Table(column_families={"f": {}}),
        )
        self.fill()

    def fill(self):
        for start in range(0, len(self.keys), 5000):
            self.write(self.keys[start : start + 5000])

    def write(self, keys):
        entries = [{"row_key": key, "mutations": [self.cell(self.value)]} for key in keys]
        for answer in self.raw.mutate_rows(table_name=self.table, entries=entries):
            same({one.status.code for one in answer.entries}, {0}, "statuses")

    @staticmethod
    def cell(value):
        return MUTATION(
            set_cell={
                "family_name": "f",
                "column_qualifier": b"owner",
                "timestamp_micros": 1000,
                "value": value,
            }
        )

    def answers(self, **request):
        return list(self.raw.read_rows({"table_name": self.table, **request}, metadata=UNDERSTOOD))

    def read(self, **request):
        """Keys in the order they came; every value must be of this tenant."""
        keys, value, first = [], b"", True
        for answer in self.answers(**request):
            for chunk in answer.chunks:
                if first:
                    keys.append(chunk.row_key)
                first = chunk.commit_row
                value += chunk.value
                if chunk.commit_row:
                    holds(
                        value == self.value, f"{keys[-1]!r} of {self.project} holds {value[:40]!r}"
                    )
                    value = b""
        return keys


sides = []


def both_ways():
    """(this tenant, the other one), twice."""
    return (sides[0], sides[1]), (sides[1], sides[0])


def in_range(tenant, **bounds):
    return tenant.read(rows={"row_ranges": [bounds]})


# --- reads ---------------------------------------------------------------------------------------


@checks.check
def no_row_set():
    for me, _ in both_ways():
        same(me.read(), me.keys, f"rows of {me.project}")


@checks.check
def empty_row_set():
    for me, _ in both_ways():
        same(me.read(rows={}), me.keys, f"rows of {me.project}")


@checks.check
def empty_range():
    for me, _ in both_ways():
        same(in_range(me), me.keys, f"rows of {me.project}")


@checks.check
def open_ended_ranges():
    for me, _ in both_ways():
        middle = me.keys[len(me.keys) // 2]
        after = me.keys[len(me.keys) // 2 + 1 :]
        before = me.keys[: len(me.keys) // 2]
        same(in_range(me, start_key_closed=middle), [middle, *after], "from a key on")
        same(in_range(me, start_key_open=middle), after, "after a key")
        same(in_range(me, end_key_open=middle), before, "before a key")
        same(in_range(me, end_key_closed=middle), [*before, middle], "up to a key")


@checks.check
def ranges_beyond_every_key():
    for me, _ in both_ways():
        last = b"\xff" * 4096
        same(in_range(me, start_key_closed=last), [], "from the last key on")
        same(in_range(me, end_key_open=b"\x00"), [], "before the first key")
        same(in_range(me, start_key_closed=b"\x00", end_key_closed=last), me.keys, "all between")


@checks.check
def keys_of_the_other():
    for me, other in both_ways():
        foreign = [key for key in other.keys if key != b"same"][:100]
        same(me.read(rows={"row_keys": foreign}), [], "rows of keys that are the other's")
        stored = f"{other.project}#{TABLE}#".encode()
        same(me.read(rows={"row_keys": [stored + foreign[0]]}), [], "a key as it may be stored")


@checks.check
def row_limit_beyond_the_end():
    for me, _ in both_ways():
        same(me.read(rows_limit=10**9), me.keys, f"rows of {me.project}")


@checks.check
def row_key_regex():
    for me, _ in both_ways():
        for regex, wanted in (
            (rb"\C*", me.keys),
            (rb".*", [key for key in me.keys if b"\n" not in key]),
            (rb"same", [b"same"]),
            (rb"acme\C*", [key for key in me.keys if key.startswith(b"acme")]),
            (rb"\C*" + TABLE.encode() + rb"\C*", []),
        ):
            same(me.read(filter={"row_key_regex_filter": regex}), wanted, f"{regex!r}")
        only = {"row_key_regex_filter": rb"\C*"}
        chain = {"chain": {"filters": [only, {"interleave": {"filters": [only, only]}}]}}
        limited = {"chain": {"filters": [chain, {"cells_per_row_limit_filter": 1}]}}
        same(me.read(filter=limited), me.keys, "regex inside other filters")


@checks.check
def reverse_scan():
    for me, _ in both_ways():
        backwards = me.keys[::-1]
        same(me.read(reversed=True), backwards, "all")
        middle = len(backwards) // 2
        part = {"row_ranges": [{"end_key_open": backwards[middle]}]}
        same(me.read(reversed=True, rows=part), backwards[middle + 1 :], "before a key")
        part = {"row_ranges": [{"start_key_open": backwards[middle]}]}
        same(me.read(reversed=True, rows=part), backwards[:middle], "after a key")
        same(me.read(reversed=True, rows_limit=1), backwards[:1], "the last one")


@checks.check
def last_scanned_row_key():
    """Scans that give nothing back may say how far they are: in keys of their own."""
    for me, _ in both_ways():
        known = set(me.keys)
        for request in ({}, {"reversed": True}):
            for hidden in ({"block_all_filter": True}, {"value_regex_filter": b"nothing"}):
                for answer in me.answers(filter=hidden, **request):
                    same(len(answer.chunks), 0, "chunks")
                    key = answer.last_scanned_row_key
                    holds(not key or key in known, f"last_scanned_row_key {key[:80]!r}")


@checks.check
def request_stats():
    for me, _ in both_ways():
        hidden, shown = {"value_regex_filter": b"nothing"}, {"pass_all_filter": True}
        for row_filter, rows in ((hidden, 0), (shown, len(me.keys))):
            answers = me.answers(filter=row_filter, request_stats_view=2)
            seen = answers[-1].request_stats.full_read_stats_view.read_iteration_stats
            same(seen.rows_seen_count, len(me.keys), "rows seen")
            same(seen.rows_returned_count, rows, "rows returned")
            holds(seen.cells_seen_count <= len(me.keys), f"{seen.cells_seen_count} cells seen")


@checks.check
def sample_row_keys():
    for me, _ in both_ways():
        samples = list(me.raw.sample_row_keys(table_name=me.table))
        known = {*me.keys, b""}
        for sample in samples:
            holds(sample.row_key in known, f"sample {sample.row_key[:80]!r}")
        same(samples[-1].row_key, b"", "last key")
        stored = sum(len(key) + len(me.value) + 64 for key in me.keys)
        total = samples[-1].offset_bytes
        holds(total <= 2 * stored, f"{me.project} stores about {stored} bytes, samples say {total}")


# --- changes -------------------------------------------------------------------------------------


@contextlib.contextmanager
def untouched(other):
    """What one tenant does in the block leaves the other's rows as they are."""
    same(other.read(), other.keys, f"rows of {other.project} before")
    yield
    same(other.read(), other.keys, f"rows of {other.project} after")


@checks.check
def a_write_to_a_key_of_the_other():
    for me, other in both_ways():
        foreign = other.keys[0]
        with untouched(other):
            me.write([foreign])
            same(me.read(rows={"row_keys": [foreign]}), [foreign], "own row")
            delete = [MUTATION(delete_from_row={})]
            me.raw.mutate_row(table_name=me.table, row_key=foreign, mutations=delete)
        same(me.read(), me.keys, f"rows of {me.project}")


@checks.check
def read_modify_write():
    for me, other in both_ways():
        with untouched(other):
            rule = {"family_name": "f", "column_qualifier": b"owner", "append_value": b"+"}
            answer = me.raw.read_modify_write_row(
                table_name=me.table, row_key=b"same", rules=[rule]
            )
            same(answer.row.key, b"same", "key of the answer")
            cell = answer.row.families[0].columns[0].cells[0]
            holds(cell.value == me.value + b"+", f"the answer holds {cell.value[:40]!r}")
            delete = [MUTATION(delete_from_row={})]
            me.raw.mutate_row(table_name=me.table, row_key=b"same", mutations=delete)
        me.write([b"same"])


@checks.check
def check_and_mutate():
    for me, other in both_ways():
        with untouched(other):
            for row_key, owner, wanted in (
                (b"same", other.project, False),
                (b"same", me.project, True),
                (other.keys[0], other.project, False),
            ):
                answer = me.raw.check_and_mutate_row(
                    table_name=me.table,
                    row_key=row_key,
                    predicate_filter={"value_regex_filter": owner.encode() + rb"\.*"},
                    true_mutations=[me.cell(me.value)],
                    false_mutations=[MUTATION(delete_from_row={})],
                )
                same(answer.predicate_matched, wanted, f"{row_key!r} holds {owner}")
                me.write([b"same"])
        same(me.read(), me.keys, f"rows of {me.project}")


@checks.check
def drop_by_prefix():
    for me, other in both_ways():
        with untouched(other):
            prefixes = (b"sam", other.keys[0], b"-eu", b"#", f"{other.project}#".encode())
            for prefix in prefixes:
                me.admin.drop_row_range({"name": me.table, "row_key_prefix": prefix}, timeout=200)
            left = [key for key in me.keys if not key.startswith(prefixes)]
            same(me.read(), left, f"rows of {me.project}")
        me.write([key for key in me.keys if key not in left])


@checks.check
def drop_of_all_rows():
    for me, other in both_ways():
        with untouched(other):
            me.admin.drop_row_range(
                {"name": me.table, "delete_all_data_from_table": True}, timeout=200
            )
            same(me.read(), [], f"rows of {me.project}")
        me.fill()


@checks.check
def families_are_each_ones_own():
    change = bigtable_admin_v2.ModifyColumnFamiliesRequest.Modification
    for me, other in both_ways():
        with untouched(other):
            me.admin.modify_column_families(
                name=me.table, modifications=[change(id="mine", create={})]
            )
            seen = other.admin.get_table(name=other.table)
            same(list(seen.column_families), ["f"], f"families of {other.project}")
            me.admin.modify_column_families(
                name=me.table, modifications=[change(id="mine", drop=True)]
            )


@checks.check
def tables_are_each_ones_own():
    for me, other in both_ways():
        extra = new_table_id("extra")
        me.admin.create_table(
            parent=instance_name(me.project), table_id=extra, table=bigtable_admin_v2.Table()
        )
        listed = [one.name for one in other.admin.list_tables(parent=instance_name(other.project))]
        holds(all(name.startswith(instance_name(other.project) + "/") for name in listed), listed)
        holds(table_name(extra, other.project) not in listed, "the other's table is listed")
        with refused(exceptions.NotFound):
            other.admin.get_table(name=table_name(extra, other.project))
        with untouched(other):
            me.admin.delete_table(name=table_name(extra, me.project))


# --- naming the other's project ------------------------------------------------------------------


def attempts(me, project):
    """Every call that takes a name, with a name in that project."""
    table, instance = table_name(TABLE, project), instance_name(project)
    change = bigtable_admin_v2.ModifyColumnFamiliesRequest.Modification
    rule = {"family_name": "f", "column_qualifier": b"c", "append_value": b"x"}
    cell = me.cell(b"intruder")
    raw, admin = me.raw, me.admin
    instances = bigtable_admin_v2.BigtableInstanceAdminClient(**login(key_of(me.project)))
    entry = {"row_key": b"same", "mutations": [cell]}
    row = {"table_name": table, "row_key": b"same"}
    return {
        "ReadRows": lambda: list(raw.read_rows(table_name=table)),
        "SampleRowKeys": lambda: list(raw.sample_row_keys(table_name=table)),
        "MutateRow": lambda: raw.mutate_row(**row, mutations=[cell]),
        "MutateRows": lambda: list(raw.mutate_rows(table_name=table, entries=[entry])),
        "CheckAndMutateRow": lambda: raw.check_and_mutate_row({**row, "true_mutations": [cell]}),
        "ReadModifyWriteRow": lambda: raw.read_modify_write_row({**row, "rules": [rule]}),
        "PingAndWarm": lambda: raw.ping_and_warm(name=instance),
        "GetTable": lambda: admin.get_table(name=table),
        "ListTables": lambda: list(admin.list_tables(parent=instance)),
        "CreateTable": lambda: admin.create_table(
            parent=instance, table_id=TABLE, table=bigtable_admin_v2.Table()
        ),
        "UpdateTable": lambda: admin.update_table(
            table={"name": table, "deletion_protection": True},
            update_mask={"paths": ["deletion_protection"]},
        ),
        "ModifyColumnFamilies": lambda: admin.modify_column_families(
            name=table, modifications=[change(id="f", drop=True)]
        ),
        "DropRowRange": lambda: admin.drop_row_range(
            {"name": table, "delete_all_data_from_table": True}, timeout=200
        ),
        "DeleteTable": lambda: admin.delete_table(name=table),
        "GenerateConsistencyToken": lambda: admin.generate_consistency_token(name=table),
        "CheckConsistency": lambda: admin.check_consistency(name=table, consistency_token="any"),
        "GetInstance": lambda: instances.get_instance(name=instance),
        "ListInstances": lambda: instances.list_instances(parent=f"projects/{project}"),
        "ListClusters": lambda: instances.list_clusters(parent=instance),
    }


def denials(me, project):
    said = {}
    for name, attempt in attempts(me, project).items():
        with refused(exceptions.PermissionDenied) as refusal:
            attempt()
        said[name] = refusal.error.message.replace(project, "THE-OTHER")
    return said


@checks.over_tls
def another_project_is_denied():
    for me, other in both_ways():
        with untouched(other):
            denials(me, other.project)


@checks.over_tls
def another_project_is_denied_alike_whether_it_exists():
    for me, other in both_ways():
        same(denials(me, ABSENT), denials(me, other.project), "messages")


@checks.over_tls
def another_instance_is_not_found():
    for me, _ in both_ways():
        name = f"projects/{me.project}/instances/{INSTANCE}-2/tables/{TABLE}"
        with refused(exceptions.NotFound):
            list(me.raw.read_rows(table_name=name))
        with refused(exceptions.NotFound):
            me.admin.get_table(name=name)


@checks.over_tls
def headers_grant_nothing():
    """Routing headers are hints; the message says what is meant."""
    for me, other in both_ways():
        for routed, named in ((me, other), (other, me)):
            metadata = [
                ("x-goog-request-params", f"table_name={routed.table}"),
                ("google-cloud-resource-prefix", routed.table),
                ("x-goog-user-project", routed.project),
            ]
            denied = refused(exceptions.PermissionDenied)
            with denied if named is other else contextlib.nullcontext():
                answers = list(me.raw.read_rows(table_name=named.table, metadata=metadata))
                holds(len(answers) > 0, "own rows are not given")


def main():
    keys = [b"a", b"m\n", b"z", b"acme", *(b"row#%06d" % n for n in range(SMALL))]
    sides.append(Tenant(PROJECT, [key for key in keys if key != b"acme"], 20))
    foreign = [b"\x00", b"b", b"n", b"\xff", b"\xff" * 64, b"-eu", b"acme-eu#x", b"y\n"]
    foreign += [b"other#%03d" % n for n in range(100)]
    sides.append(Tenant(OTHER_PROJECT, foreign, 200_000))
    for side in sides:
        side.make()
    status = checks.run()
    for side in sides:
        side.admin.delete_table(name=side.table)
    return status


if __name__ == "__main__":
    sys.exit(main())
