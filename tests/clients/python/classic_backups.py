"""Backups and the tables made of them, with the classic API."""

import datetime

from google.cloud import bigtable_admin_v2

from classic_tools import (
    cells_of,
    checks,
    made,
    put,
    tables,
)
from common import (
    exceptions,
    holds,
    new_table_id,
    refused,
    same,
    table_admin,
)

CLUSTER = "main"
READY = bigtable_admin_v2.Backup.State.READY
WAIT_S = 60


def later(**delta):
    now = datetime.datetime.now(datetime.timezone.utc)
    return (now + datetime.timedelta(**delta)).replace(microsecond=0)


def backed_up(instance, subject):
    """A table with one row, and a backup of it that is ready."""
    table = made(instance, subject)
    put(table, b"r", [("stats", b"c", 1000, b"kept")])
    backup = table.backup(new_table_id("b"), cluster_id=CLUSTER, expire_time=later(days=3))
    operation = backup.create()
    same(operation.result(timeout=WAIT_S).name, backup.name, "name in the result")
    return table, backup, operation


def restored(table, backup, subject):
    new_id = new_table_id(subject)
    operation = table.restore(new_id, cluster_id=CLUSTER, backup_id=backup.backup_id)
    tables[new_id] = table._instance.table(new_id)
    operation.result(timeout=WAIT_S)
    return tables[new_id], operation


@checks.check
def a_backup_is_made_listed_and_deleted(instance):
    table, backup, operation = backed_up(instance, "backup")
    same(operation.metadata.name, backup.name, "name in the metadata")
    same(operation.metadata.source_table, table.name, "table in the metadata")
    holds(backup.exists(), "it does not exist")
    backup.reload()
    same(backup.state, READY, "state")
    holds(backup.size_bytes > 0, "it has no size")
    same(backup.source_table, table.name, "source table")
    same([one.backup_id for one in table.list_backups()], [backup.backup_id], "backups")
    same(
        [one.backup_id for one in table.list_backups(filter_="state:READY", order_by="name desc")],
        [backup.backup_id],
        "ready backups",
    )
    same(table.list_backups(filter_="state:CREATING"), [], "backups in the making")
    backup.delete()
    holds(not backup.exists(), "it exists after the delete")
    same(table.list_backups(), [], "backups left")


@checks.check
def a_table_is_restored_under_a_new_name(instance):
    table, backup, _ = backed_up(instance, "restore")
    put(table, b"r", [("stats", b"c", 1000, b"changed")])
    copy, operation = restored(table, backup, "restored")
    same([cell[4] for cell in cells_of(copy.read_row(b"r"))], [b"kept"], "restored values")
    same([cell[4] for cell in cells_of(table.read_row(b"r"))], [b"changed"], "the table's own")
    same(sorted(copy.list_column_families()), ["stats"], "families")
    same(operation.metadata.backup_info.backup, backup.name, "backup in the metadata")
    same(operation.metadata.progress.progress_percent, 100, "progress")
    with refused(exceptions.AlreadyExists):
        table.restore(copy.table_id, cluster_id=CLUSTER, backup_id=backup.backup_id)
    backup.delete()
    with refused(exceptions.NotFound):
        table.restore(new_table_id("never"), cluster_id=CLUSTER, backup_id=backup.backup_id)


@checks.check
def a_restored_table_has_nothing_left_to_optimize(instance):
    _, backup, _ = backed_up(instance, "optimize")
    new_id = new_table_id("optimized")
    tables[new_id] = instance.table(new_id)
    operation = table_admin().restore_table(
        {"parent": instance.name, "table_id": new_id, "backup": backup.name}
    )
    operation.result(timeout=WAIT_S)
    same(operation.optimize_restored_table_operation(), None, "what follows")
    backup.delete()


@checks.check
def a_backup_is_copied_and_kept_longer(instance):
    table, backup, _ = backed_up(instance, "copy")
    copy_id = new_table_id("c")
    operation = table_admin().copy_backup(
        parent=f"{instance.name}/clusters/{CLUSTER}",
        backup_id=copy_id,
        source_backup=backup.name,
        expire_time=later(days=9),
    )
    copied = operation.result(timeout=WAIT_S)
    same(copied.source_backup, backup.name, "source of the copy")
    same(copied.source_table, table.name, "table of the copy")
    same(operation.metadata.source_backup_info.backup, backup.name, "source in the metadata")
    until = later(days=20)
    backup.update_expire_time(until)
    same(table_admin().get_backup(name=backup.name).expire_time, until, "expire time")
    backup.delete()
    again = table.backup(copy_id, cluster_id=CLUSTER)
    same([one.backup_id for one in table.list_backups()], [copy_id], "backups left")
    again.delete()


@checks.check
def wrong_backups_are_refused(instance):
    table, backup, _ = backed_up(instance, "badbackup")
    with refused(exceptions.AlreadyExists):
        table.backup(backup.backup_id, CLUSTER, expire_time=later(days=3)).create()
    for until in (later(hours=5), later(days=91)):
        with refused(exceptions.InvalidArgument):
            table.backup(new_table_id("b"), CLUSTER, expire_time=until).create()
        with refused(exceptions.InvalidArgument):
            backup.update_expire_time(until)
    with refused(exceptions.InvalidArgument):
        table.backup("no/name", CLUSTER, expire_time=later(days=3)).create()
    with refused(exceptions.NotFound):
        table.backup("b", "elsewhere", expire_time=later(days=3)).create()
    nothing = instance.table("no-such-table")
    with refused(exceptions.NotFound):
        nothing.backup(new_table_id("b"), CLUSTER, expire_time=later(days=3)).create()
    with refused(exceptions.InvalidArgument):
        table.list_backups(filter_="colour:red")
    backup.delete()
    with refused(exceptions.NotFound):
        backup.delete()
    with refused(exceptions.NotFound):
        backup.update_expire_time(later(days=3))


@checks.check
def operations_are_found_again_and_forgotten(instance):
    _, backup, operation = backed_up(instance, "operation")
    name = operation.operation.name
    client = table_admin().transport.operations_client
    holds(name.startswith(f"operations/projects/{instance._client.project}/"), name)
    holds(client.get_operation(name).done, "it is not done")
    listed = [one.name for one in client.list_operations(instance.name, "")]
    holds(name in listed, f"{name} is not among {listed}")
    client.delete_operation(name)
    with refused(exceptions.NotFound):
        client.get_operation(name)
    backup.delete()
