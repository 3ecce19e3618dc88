package bigtent.clients;

import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.api.gax.rpc.FailedPreconditionException;
import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.cloud.bigtable.admin.v2.models.Backup;
import com.google.cloud.bigtable.admin.v2.models.CopyBackupRequest;
import com.google.cloud.bigtable.admin.v2.models.CreateBackupRequest;
import com.google.cloud.bigtable.admin.v2.models.RestoreTableRequest;
import com.google.cloud.bigtable.admin.v2.models.RestoredTableResult;
import com.google.cloud.bigtable.admin.v2.models.UpdateBackupRequest;
import java.util.LinkedHashMap;
import java.util.Map;
import org.threeten.bp.Duration;
import org.threeten.bp.Instant;
import org.threeten.bp.temporal.ChronoUnit;

/** Backups, and the tables made of them. */
final class BackupChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();
  private static final String CLUSTER = "main";

  static {
    ALL.put("backup_create_get_list_update_delete", BackupChecks::lifeCycle);
    ALL.put("backup_restored_into_a_new_table", BackupChecks::restored);
    ALL.put("backup_copied", BackupChecks::copied);
    ALL.put("backup_refused", BackupChecks::refused);
  }

  private BackupChecks() {}

  private static Instant in(Duration time) {
    return Instant.now().plus(time).truncatedTo(ChronoUnit.SECONDS);
  }

  private static CreateBackupRequest wanted(String table, String name, Duration keep) {
    return CreateBackupRequest.of(CLUSTER, name)
        .setSourceTableId(table)
        .setExpireTime(in(keep));
  }

  /** A table with a row, and a backup of it with the table's name. */
  private static String backedUp(World w, String subject) {
    String table = w.table(subject, "f");
    w.put(table, "r", "f", "q", 1000, "kept");
    Backup made = w.admin.createBackup(wanted(table, table, Duration.ofDays(3)));
    Expect.equal("backup", made.getId(), table);
    return table;
  }

  private static void lifeCycle(World w) {
    String table = backedUp(w, "backup");
    Backup backup = w.admin.getBackup(CLUSTER, table);
    Expect.equal("source", backup.getSourceTableId(), table);
    Expect.equal("state", backup.getState(), Backup.State.READY);
    Expect.that(backup.getSizeBytes() > 0, "it has no size");
    Expect.that(w.admin.listBackups(CLUSTER).contains(table), "it is not listed");
    Instant until = in(Duration.ofDays(20));
    backup =
        w.admin.updateBackup(UpdateBackupRequest.of(CLUSTER, table).setExpireTime(until));
    Expect.equal("expire time", backup.getExpireTime(), until);
    w.admin.deleteBackup(CLUSTER, table);
    Expect.refused(
        NotFoundException.class, "get deleted", () -> w.admin.getBackup(CLUSTER, table));
    Expect.that(!w.admin.listBackups(CLUSTER).contains(table), "it is listed still");
  }

  private static void restored(World w) throws Exception {
    String table = backedUp(w, "restore");
    String target = w.name("restored");
    w.put(table, "r", "f", "q", 1000, "changed");
    RestoreTableRequest request = RestoreTableRequest.of(CLUSTER, table).setTableId(target);
    RestoredTableResult result = w.admin.restoreTable(request);
    Expect.equal("table", result.getTable().getId(), target);
    Expect.that(result.getOptimizeRestoredTableOperationToken() == null, "it is to be optimized");
    Expect.row(w, target, "r", "r f:q@1000=kept");
    Expect.row(w, table, "r", "r f:q@1000=changed");
    Expect.refused(
        AlreadyExistsException.class, "restore again", () -> w.admin.restoreTable(request));
    w.admin.deleteBackup(CLUSTER, table);
    RestoreTableRequest nothing =
        RestoreTableRequest.of(CLUSTER, table).setTableId(target + "-2");
    Expect.refused(
        NotFoundException.class, "restore of nothing", () -> w.admin.restoreTable(nothing));
  }

  private static void copied(World w) {
    String table = backedUp(w, "copied");
    Backup copy =
        w.admin.copyBackup(
            CopyBackupRequest.of(CLUSTER, table)
                .setDestination(CLUSTER, table + "-c")
                .setExpireTime(in(Duration.ofDays(4))));
    Expect.equal("source of the copy", copy.getSourceBackupId(), table);
    Expect.equal("table of the copy", copy.getSourceTableId(), table);
    Expect.refused(
        FailedPreconditionException.class,
        "copy of a copy",
        () ->
            w.admin.copyBackup(
                CopyBackupRequest.of(CLUSTER, table + "-c")
                    .setDestination(CLUSTER, table + "-d")
                    .setExpireTime(in(Duration.ofDays(4)))));
    w.admin.deleteBackup(CLUSTER, table + "-c");
    w.admin.deleteBackup(CLUSTER, table);
  }

  private static void refused(World w) {
    String table = backedUp(w, "backup-refused");
    Expect.refused(
        AlreadyExistsException.class,
        "twice",
        () -> w.admin.createBackup(wanted(table, table, Duration.ofDays(3))));
    Expect.refused(
        InvalidArgumentException.class,
        "kept too short",
        () -> w.admin.createBackup(wanted(table, table + "-s", Duration.ofHours(5))));
    Expect.refused(
        InvalidArgumentException.class,
        "kept too long",
        () -> w.admin.createBackup(wanted(table, table + "-l", Duration.ofDays(91))));
    Expect.refused(
        NotFoundException.class,
        "of no table",
        () -> w.admin.createBackup(wanted(table + "-n", table + "-n", Duration.ofDays(3))));
    w.admin.deleteBackup(CLUSTER, table);
    Expect.refused(
        NotFoundException.class, "delete again", () -> w.admin.deleteBackup(CLUSTER, table));
  }
}
