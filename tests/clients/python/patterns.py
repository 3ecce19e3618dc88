"""Patterns of the Bigtable guide to schema design, as programs would use them."""

import concurrent.futures
import datetime
import heapq
import sys
import zlib

from google.cloud.bigtable.data import (
    ReadRowsQuery,
    RowMutationEntry,
    RowRange,
    SetCell,
    row_filters,
)
from google.protobuf import duration_pb2

from common import (
    INSTANCE,
    Checks,
    bigtable_admin_v2,
    data_client,
    same,
    table,
    tenant,
)

checks = Checks("python-patterns")
GcRule = bigtable_admin_v2.GcRule
START = 1_700_000_000_000_000
MINUTE = 60_000_000


def cell(family, qualifier, value, micros=START):
    return SetCell(family, qualifier, value, timestamp_micros=micros)


def write(data, rows):
    """rows: (key, cells)"""
    data.bulk_mutate_rows([RowMutationEntry(key, cells) for key, cells in rows])


def prefix(text):
    """The rows whose key begins with the text."""
    start = text.encode()
    return RowRange(start, start[:-1] + bytes([start[-1] + 1]))


def keys_of(rows):
    return [row.row_key.decode() for row in rows]


def value_of(row, family, qualifier):
    return row.get_cells(family, qualifier)[0].value


# --- time series ---------------------------------------------------------------------------------


def reverse(micros):
    """Newest first: the later, the smaller. As many digits as the greatest has."""
    return f"{2**63 - 1 - micros:019d}"


@checks.check
def a_time_series_is_read_newest_first_and_by_time(client):
    with table("series", ["m"]) as table_id:
        data = client.get_table(INSTANCE, table_id)
        minutes = [START + n * MINUTE for n in range(500)]
        for vehicle in ("bus#7", "bus#77", "tram#1"):
            write(
                data,
                [
                    (f"{vehicle}#{reverse(at)}", [cell("m", b"km", f"{vehicle} {at}", at)])
                    for at in minutes
                ],
            )

        def times(query):
            return [row.cells[0].timestamp_micros for row in data.read_rows(query)]

        latest = ReadRowsQuery(row_ranges=prefix("bus#7#"), limit=10)
        same(times(latest), minutes[:-11:-1], "the ten latest")
        window = RowRange(f"bus#7#{reverse(minutes[200])}", f"bus#7#{reverse(minutes[100])}")
        same(times(ReadRowsQuery(row_ranges=window)), minutes[200:100:-1], "from 101 to 200")
        both = ReadRowsQuery(row_ranges=[prefix("bus#7#"), prefix("tram#1#")])
        same(len(times(both)), 1000, "two vehicles")
        got = data.read_row(f"bus#77#{reverse(minutes[3])}")
        same(value_of(got, "m", b"km"), b"bus#77 %d" % minutes[3], "one point")


@checks.check
def a_range_of_timestamps_reads_versions_in_one_row(client):
    """The other layout of the guide: new cells of one row for each event."""
    with table("buckets", ["m"]) as table_id:
        data = client.get_table(INSTANCE, table_id)
        points = [cell("m", b"p", b"%d" % n, START + n * MINUTE) for n in range(60)]
        data.mutate_row("bus#7#2023-11-14T22", points)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

        def at(minute):
            return epoch + datetime.timedelta(microseconds=START + minute * MINUTE)

        some = row_filters.TimestampRangeFilter(at(10), at(20))
        row = data.read_row("bus#7#2023-11-14T22", row_filter=some)
        same([one.value for one in row], [b"%d" % n for n in range(19, 9, -1)], "minutes 10 to 19")


# --- families ------------------------------------------------------------------------------------


@checks.check
def a_family_filter_reads_the_profile_without_the_activity(client):
    month = duration_pb2.Duration(seconds=30 * 86400)
    rules = {"profile": GcRule(max_num_versions=1), "activity": GcRule(max_age=month)}
    now = int(datetime.datetime.now().timestamp()) * 1_000_000
    with table("users", rules) as table_id:
        data = client.get_table(INSTANCE, table_id)
        for user in range(20):
            cells = [cell("profile", b"name", b"user %d" % user, now)]
            cells += [cell("activity", b"click", b"%d" % n, now - n * 1000) for n in range(50)]
            data.mutate_row(f"user#{user:03d}", cells)
        data.mutate_row("user#003", cell("profile", b"name", b"renamed", now + 1000))
        profile = row_filters.RowFilterChain(
            [row_filters.FamilyNameRegexFilter("profile"), row_filters.CellsColumnLimitFilter(1)]
        )
        rows = data.read_rows(ReadRowsQuery(row_filter=profile))
        same([len(row.cells) for row in rows], [1] * 20, "cells of profiles")
        same(value_of(rows[3], "profile", b"name"), b"renamed", "the one version")
        latest = row_filters.RowFilterChain(
            [row_filters.FamilyNameRegexFilter("activity"), row_filters.CellsColumnLimitFilter(3)]
        )
        row = data.read_row("user#007", row_filter=latest)
        same([one.value for one in row], [b"0", b"1", b"2"], "the three latest clicks")


# --- salt ----------------------------------------------------------------------------------------

SALTS = 8


def salted(key):
    return f"{zlib.crc32(key.encode()) % SALTS:02d}#{key}"


@checks.check
def salted_rows_are_read_together_again(client):
    with table("salted", ["e"], splits=[b"%02d#" % salt for salt in range(1, SALTS)]) as table_id:
        data = client.get_table(INSTANCE, table_id)
        events = [f"2024-01-{day:02d}T{n:04d}" for day in range(1, 11) for n in range(100)]
        write(data, [(salted(key), [cell("e", b"v", key.encode())]) for key in events])
        used = {key.split("#")[0] for key in keys_of(data.read_rows(ReadRowsQuery()))}
        same(len(used), SALTS, "salts in use")

        def part(salt):
            days = RowRange(f"{salt:02d}#2024-01-03", f"{salt:02d}#2024-01-07")
            rows = data.read_rows(ReadRowsQuery(row_ranges=days))
            return [key.split("#", 1)[1] for key in keys_of(rows)]

        with concurrent.futures.ThreadPoolExecutor(SALTS) as pool:
            merged = list(heapq.merge(*pool.map(part, range(SALTS))))
        same(merged, [key for key in events if "2024-01-03" <= key < "2024-01-07"], "days 3 to 6")


# --- two tenants, one table of phones ------------------------------------------------------------

PHONES = (
    ("phone#4c410523#20190501", 1, 1, "PQ2A.190405.003"),
    ("phone#4c410523#20190502", 1, 1, "PQ2A.190405.004"),
    ("phone#4c410523#20190505", 0, 1, "PQ2A.190406.000"),
    ("phone#5c10102#20190501", 1, 1, "PQ2A.190401.002"),
    ("phone#5c10102#20190502", 1, 0, "PQ2A.190406.000"),
)


def phones_of(project, data):
    """Each tenant's phones have the same keys and builds of its own."""
    write(
        data,
        [
            (
                key,
                [
                    cell("stats_summary", b"connected_cell", cellular),
                    cell("stats_summary", b"connected_wifi", wifi),
                    cell("stats_summary", b"os_build", f"{project}.{build}"),
                ],
            )
            for key, cellular, wifi, build in PHONES
        ],
    )


@checks.check
def the_phone_table_of_two_tenants(_client):
    projects = (tenant("altostrat"), tenant("examplepetstore"))
    clients = {project: data_client(project) for project in projects}
    rules = {"stats_summary": GcRule(max_num_versions=1)}
    with table("phone", rules, projects[0]) as first, table("phone", rules, projects[1]) as second:
        phones = {
            project: clients[project].get_table(INSTANCE, table_id)
            for project, table_id in zip(projects, (first, second), strict=True)
        }
        for project in projects:
            phones_of(project, phones[project])
        phones[projects[0]].mutate_row(
            "phone#4c410523#20190503", cell("stats_summary", b"os_build", f"{projects[0]}.only")
        )
        for project, data in phones.items():
            own = [key for key, *_ in PHONES]
            if project == projects[0]:
                own.insert(2, "phone#4c410523#20190503")
            rows = data.read_rows(ReadRowsQuery())
            same(keys_of(rows), own, f"all rows of {project}")
            builds = {value_of(row, "stats_summary", b"os_build").split(b".")[0] for row in rows}
            same(builds, {project.encode()}, f"builds {project} sees")
            one = ReadRowsQuery(row_ranges=prefix("phone#4c410523#"))
            same(keys_of(data.read_rows(one)), own[:-2], f"a phone of {project}")
            days = RowRange("phone#4c410523#201905", "phone#4c410523#201906")
            same(keys_of(data.read_rows(ReadRowsQuery(row_ranges=days))), own[:-2], "a month")
            wanted = row_filters.ValueRegexFilter(project + r"\.PQ2A\.190406.*")
            rows = data.read_rows(ReadRowsQuery(row_filter=wanted))
            same(len(rows), 2, f"builds of {project} by value")
        phones[projects[0]].bulk_mutate_rows(
            [
                RowMutationEntry(key, cell("stats_summary", b"os_build", "gone"))
                for key, *_ in PHONES
            ]
        )
        row = phones[projects[1]].read_row(PHONES[0][0])
        build = value_of(row, "stats_summary", b"os_build")
        same(build, projects[1].encode() + b".PQ2A.190405.003", "after a write of the other")
    for client in clients.values():
        client.close()


if __name__ == "__main__":
    with data_client() as shared:
        sys.exit(checks.run(shared))
