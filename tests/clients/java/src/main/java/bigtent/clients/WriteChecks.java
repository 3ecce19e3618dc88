package bigtent.clients;

import static com.google.cloud.bigtable.data.v2.models.Filters.FILTERS;

import com.google.api.gax.batching.Batcher;
import com.google.api.gax.rpc.FailedPreconditionException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.admin.v2.models.Type;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.ConditionalRowMutation;
import com.google.cloud.bigtable.data.v2.models.MutateRowsException;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Range.TimestampRange;
import com.google.cloud.bigtable.data.v2.models.ReadModifyWriteRow;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowCell;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.RowMutationEntry;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.common.primitives.Longs;
import com.google.protobuf.ByteString;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes of every kind. */
final class WriteChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();
  // Cells of the future keep their timestamp, which makes answers exact.
  private static final long FUTURE = 4_000_000_000_000_000L;

  static {
    ALL.put("write_cells_and_versions", WriteChecks::cells);
    ALL.put("write_server_time", WriteChecks::serverTime);
    ALL.put("write_deletes_of_every_kind", WriteChecks::deletes);
    ALL.put("write_bulk", WriteChecks::bulk);
    ALL.put("write_bulk_reports_each_entry", WriteChecks::bulkReports);
    ALL.put("write_batcher", WriteChecks::batcher);
    ALL.put("write_row_all_or_nothing", WriteChecks::allOrNothing);
    ALL.put("write_add_to_cell", WriteChecks::addToCell);
    ALL.put("write_conditional", WriteChecks::conditional);
    ALL.put("write_read_modify_write", WriteChecks::readModifyWrite);
    ALL.put("write_increment_refused", WriteChecks::incrementRefused);
  }

  private WriteChecks() {}

  private static RowMutation row(String table, String key) {
    return RowMutation.create(TableId.of(table), key);
  }

  private static String longText(long value) {
    return Expect.text(ByteString.copyFrom(Longs.toByteArray(value)));
  }

  private static void cells(World w) {
    String table = w.table("cells", "f", "g");
    w.data.mutateRow(
        row(table, "r")
            .setCell("f", "b", 1000, "1")
            .setCell("f", "a", 2000, "2")
            .setCell("f", "a", 3000, "3")
            .setCell("f", "a", 3000, "4")
            .setCell("g", "", 1000, ""));
    Expect.row(w, table, "r", "r f:a@3000=4 f:a@2000=2 f:b@1000=1 g:@1000=");
    Expect.row(w, table, "absent", "none");
  }

  private static void serverTime(World w) {
    String table = w.table("clock", "f");
    w.data.mutateRow(
        RowMutation.create(
            TableId.of(table),
            ByteString.copyFromUtf8("r"),
            Mutation.createUnsafe().setCell("f", "q", -1, "v")));
    List<RowCell> cells = w.data.readRow(TableId.of(table), "r").getCells();
    Expect.equal("cells", cells.size(), 1);
    long micros = cells.get(0).getTimestamp();
    long apart = Math.abs(micros - System.currentTimeMillis() * 1000);
    Expect.that(micros % 1000 == 0 && apart < 60_000_000L, "the server's time is " + micros);
  }

  private static void deletes(World w) {
    String table = w.table("deletes", "f", "g");
    RowMutation fill = row(table, "r").setCell("f", "b", 1000, "v").setCell("g", "a", 1000, "v");
    for (long micros = 1000; micros <= 4000; micros += 1000) {
      fill.setCell("f", "a", micros, "v");
    }
    w.data.mutateRow(fill);
    ByteString a = ByteString.copyFromUtf8("a");
    w.data.mutateRow(row(table, "r").deleteCells("f", a, TimestampRange.create(2000, 4000)));
    Expect.row(w, table, "r", "r f:a@4000=v f:a@1000=v f:b@1000=v g:a@1000=v");
    w.data.mutateRow(row(table, "r").deleteCells("f", "a"));
    Expect.row(w, table, "r", "r f:b@1000=v g:a@1000=v");
    w.data.mutateRow(row(table, "r").deleteFamily("f"));
    Expect.row(w, table, "r", "r g:a@1000=v");
    w.data.mutateRow(row(table, "r").deleteRow());
    Expect.row(w, table, "r", "none");
  }

  private static String bulkKey(int i) {
    return String.format("row-%05d", i);
  }

  private static void bulk(World w) {
    String table = w.table("bulk", "f");
    BulkMutation bulk = BulkMutation.create(TableId.of(table));
    for (int i = 0; i < 5000; i++) {
      String key = bulkKey((i * 7919) % 5000);
      bulk.add(key, Mutation.create().setCell("f", "q", 1000, key));
    }
    w.data.bulkMutateRows(bulk);
    int next = 0;
    for (Row row : w.data.readRows(Query.create(TableId.of(table)))) {
      String key = bulkKey(next++);
      Expect.equal("row", Expect.text(row), key + " f:q@1000=" + key);
    }
    Expect.equal("rows", next, 5000);
  }

  private static void bulkReports(World w) {
    String table = w.table("entries", "f");
    BulkMutation bulk =
        BulkMutation.create(TableId.of(table))
            .add("a", Mutation.create().setCell("f", "q", 1000, "1"))
            .add("b", Mutation.create().setCell("nobody", "q", 1000, "2"))
            .add("c", Mutation.create().setCell("f", "q", 1001, "3"))
            .add("d", Mutation.create().setCell("f", "q", 1000, "4"));
    try {
      w.data.bulkMutateRows(bulk);
    } catch (MutateRowsException failure) {
      String failed =
          failure.getFailedMutations().stream()
              .map(f -> f.getIndex() + " " + f.getError().getStatusCode().getCode())
              .sorted()
              .collect(Collectors.joining(", "));
      Expect.equal("failed", failed, "1 NOT_FOUND, 2 INVALID_ARGUMENT");
      Expect.equal("rows", Expect.keys(w, Query.create(TableId.of(table))), "a,d");
      return;
    }
    throw new Expect.Failure("nothing was refused");
  }

  private static void batcher(World w) throws Exception {
    String table = w.table("batcher", "f");
    try (Batcher<RowMutationEntry, Void> batcher =
        w.data.newBulkMutationBatcher(TableId.of(table))) {
      for (int i = 0; i < 1000; i++) {
        batcher.add(RowMutationEntry.create(bulkKey(i)).setCell("f", "q", 1000, "v"));
      }
    }
    Expect.equal("rows", Expect.rows(w, Query.create(TableId.of(table))).size(), 1000);
  }

  private static void allOrNothing(World w) {
    String table = w.table("atomic", "f");
    Expect.refused(
        NotFoundException.class,
        "unknown family",
        () ->
            w.data.mutateRow(
                row(table, "r").setCell("f", "q", 1000, "no").setCell("nobody", "q", 1000, "no")));
    Expect.row(w, table, "r", "none");
  }

  private static void addToCell(World w) {
    CreateTableRequest request =
        CreateTableRequest.of(w.name("sums"))
            .addFamily("high", Type.int64Max())
            .addFamily("sum", Type.int64Sum());
    String table = w.admin.createTable(request).getId();
    for (long value : new long[] {5, 40, -2}) {
      w.data.mutateRow(
          row(table, "r").addToCell("sum", "q", 1000, value).addToCell("high", "q", 1000, value));
    }
    w.data.mutateRow(
        row(table, "r")
            .mergeToCell("sum", "q", 1000, ByteString.copyFrom(Longs.toByteArray(100))));
    Expect.row(
        w, table, "r", "r high:q@1000=" + longText(40) + " sum:q@1000=" + longText(143));
  }

  private static boolean close(World w, String table, String state) {
    return w.data.checkAndMutateRow(
        ConditionalRowMutation.create(TableId.of(table), "r")
            .condition(
                FILTERS
                    .chain()
                    .filter(FILTERS.qualifier().exactMatch("state"))
                    .filter(FILTERS.value().exactMatch(state)))
            .then(Mutation.create().setCell("f", "state", 2000, "closed"))
            .otherwise(Mutation.create().setCell("f", "missed", 1000, state)));
  }

  private static void conditional(World w) {
    String table = w.table("condition", "f");
    w.put(table, "r", "f", "state", 1000, "open");
    Expect.equal("ajar", close(w, table, "ajar"), false);
    Expect.equal("open", close(w, table, "open"), true);
    Expect.row(w, table, "r", "r f:missed@1000=ajar f:state@2000=closed f:state@1000=open");
    ConditionalRowMutation any =
        ConditionalRowMutation.create(TableId.of(table), "new")
            .otherwise(Mutation.create().setCell("f", "q", 1000, "made"));
    Expect.equal("a row without cells", w.data.checkAndMutateRow(any), false);
    Expect.equal("a row with cells", w.data.checkAndMutateRow(any), true);
    Expect.row(w, table, "new", "new f:q@1000=made");
  }

  private static void readModifyWrite(World w) {
    String table = w.table("modify", "f", "g");
    w.data.mutateRow(
        row(table, "r")
            .setCell("f", "text", FUTURE, "a")
            .setCell("f", "other", FUTURE, "unchanged")
            .setCell("g", "count", FUTURE, 40L));
    Row modified =
        w.data.readModifyWriteRow(
            ReadModifyWriteRow.create(TableId.of(table), "r")
                .append("f", "text", "b")
                .append("f", "text", "c")
                .increment("g", "count", 3)
                .increment("g", "count", -1));
    String at = "@" + FUTURE + "=";
    Expect.equal(
        "modified cells",
        Expect.text(modified),
        "r f:text" + at + "abc g:count" + at + longText(42));
    Expect.row(
        w,
        table,
        "r",
        "r f:other" + at + "unchanged f:text" + at + "abc g:count" + at + longText(42));
  }

  private static void incrementRefused(World w) {
    String table = w.table("seven", "f");
    w.put(table, "r", "f", "q", 1000, "7 bytes");
    Expect.refused(
        FailedPreconditionException.class,
        "increment of 7 bytes",
        () ->
            w.data.readModifyWriteRow(
                ReadModifyWriteRow.create(TableId.of(table), "r")
                    .append("f", "log", "line")
                    .increment("f", "q", 1)));
    Expect.row(w, table, "r", "r f:q@1000=7 bytes");
  }
}
