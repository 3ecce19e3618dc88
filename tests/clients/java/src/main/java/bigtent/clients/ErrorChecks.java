package bigtent.clients;

import com.google.api.gax.retrying.RetrySettings;
import com.google.api.gax.rpc.DeadlineExceededException;
import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.api.gax.rpc.PermissionDeniedException;
import com.google.api.gax.rpc.ServerStream;
import com.google.api.gax.rpc.UnauthenticatedException;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.ReadModifyWriteRow;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.TableId;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Errors as the client's own exceptions; deadlines and cancelling. */
final class ErrorChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();
  /** In plaintext there are no keys. */
  static final Map<String, Check> OVER_TLS = new LinkedHashMap<>();

  static {
    ALL.put("error_unknown_table_and_family", ErrorChecks::unknown);
    ALL.put("error_limits", ErrorChecks::limits);
    ALL.put("error_deadline_in_a_scan", ErrorChecks::deadline);
    ALL.put("error_cancel_in_a_scan", ErrorChecks::cancel);
    OVER_TLS.put("error_bad_key_and_foreign_project", ErrorChecks::notAllowed);
  }

  private ErrorChecks() {}

  private static void unknown(World w) {
    String table = w.table("known", "f");
    TableId nobody = TableId.of("nobody-" + w.unique);
    Class<NotFoundException> notFound = NotFoundException.class;
    Expect.refused(notFound, "read", () -> w.data.readRow(nobody, "r"));
    Expect.refused(notFound, "sample", () -> w.data.sampleRowKeys(nobody));
    Expect.refused(
        notFound,
        "write",
        () -> w.data.mutateRow(RowMutation.create(nobody, "r").setCell("f", "q", 1000, "v")));
    Expect.refused(notFound, "family", () -> w.put(table, "r", "nobody", "q", 1000, "v"));
    Expect.refused(
        notFound,
        "family to increment",
        () ->
            w.data.readModifyWriteRow(
                ReadModifyWriteRow.create(TableId.of(table), "r").increment("nobody", "q", 1)));
  }

  private static void limits(World w) {
    String table = w.table("limits", "f");
    Class<InvalidArgumentException> invalid = InvalidArgumentException.class;
    w.put(table, "k".repeat(4096), "f", "q".repeat(16384), 1000, "v");
    Expect.refused(
        invalid, "a key of 4097", () -> w.put(table, "k".repeat(4097), "f", "q", 1000, "v"));
    Expect.refused(
        invalid,
        "a qualifier of 16385",
        () -> w.put(table, "r", "f", "q".repeat(16385), 1000, "v"));
    Expect.refused(
        invalid, "a timestamp of microseconds", () -> w.put(table, "r", "f", "q", 1001, "v"));
    Expect.refused(invalid, "an empty key", () -> w.put(table, "", "f", "q", 1000, "v"));
  }

  private static void read(Target target, String table) throws Exception {
    try (BigtableDataClient client = target.data()) {
      client.readRow(TableId.of(table), "r");
    }
  }

  private static void notAllowed(World w) {
    String table = w.table("guarded", "f");
    Expect.refused(
        UnauthenticatedException.class,
        "a wrong key",
        () -> {
          read(w.target.withKey("bt_nobody"), table);
          return null;
        });
    Expect.refused(
        PermissionDeniedException.class,
        "another's project",
        () -> {
          read(w.target.withProject("nobody-" + w.unique), table);
          return null;
        });
  }

  private static int scanSlowly(BigtableDataClient client, String table) throws Exception {
    int rows = 0;
    for (Row row : client.readRows(Query.create(TableId.of(table)))) {
      Expect.that(!row.getCells().isEmpty(), "a row without cells");
      rows++;
      Thread.sleep(1);
    }
    return rows;
  }

  private static RetrySettings hasty(RetrySettings usual) {
    Duration timeout = Duration.ofMillis(700);
    return usual.toBuilder()
        .setInitialRpcTimeoutDuration(timeout)
        .setMaxRpcTimeoutDuration(timeout)
        .setTotalTimeoutDuration(timeout)
        .build();
  }

  private static void deadline(World w) throws Exception {
    String table = w.longTable();
    try (BigtableDataClient hasty =
        w.target.data(
            List.of(),
            settings ->
                settings
                    .readRowsSettings()
                    .setRetrySettings(hasty(settings.readRowsSettings().getRetrySettings())))) {
      Expect.refused(
          DeadlineExceededException.class, "scan", () -> scanSlowly(hasty, table));
    }
    Expect.row(w, table, "row-000001", "row-000001 f:q@1000=" + World.LONG_VALUE);
  }

  private static void cancel(World w) {
    String table = w.longTable();
    // More scans than a server would have places, were a cancelled one to keep its own.
    for (int i = 0; i < 50; i++) {
      ServerStream<Row> stream = w.data.readRows(Query.create(TableId.of(table)));
      int rows = 0;
      for (Row row : stream) {
        Expect.that(!row.getCells().isEmpty(), "a row without cells");
        if (++rows == 5) {
          stream.cancel();
          break;
        }
      }
      Expect.equal("rows", rows, 5);
    }
    Expect.row(w, table, "row-000001", "row-000001 f:q@1000=" + World.LONG_VALUE);
  }
}
