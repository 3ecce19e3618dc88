package bigtent.clients;

import com.google.api.gax.rpc.ApiException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.TableId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** What every check may use. Its tables are gone when it is closed. */
final class World implements AutoCloseable {
  final Target target;
  final BigtableDataClient data;
  final BigtableTableAdminClient admin;
  final String unique = UUID.randomUUID().toString().substring(0, 8);
  /** Together far more than the client takes in ahead of a slow reader. */
  static final int LONG_ROWS = 100_000;
  static final String LONG_VALUE = "x".repeat(300);

  private final List<String> tables = new ArrayList<>();
  private String longTable;

  World(Target target) throws IOException {
    this.target = target;
    data = target.data();
    admin = target.admin();
  }

  /** A name nobody else has. */
  String name(String subject) {
    String table = "java-" + subject + "-" + unique;
    tables.add(table);
    return table;
  }

  String table(String subject, String... families) {
    CreateTableRequest request = CreateTableRequest.of(name(subject));
    for (String family : families) {
      request.addFamily(family);
    }
    return admin.createTable(request).getId();
  }

  void put(String table, String key, String family, String column, long micros, String value) {
    data.mutateRow(
        RowMutation.create(TableId.of(table), key).setCell(family, column, micros, value));
  }

  /** One cell f:q@1000 = the key in each row. */
  void putRows(String table, String... keys) {
    BulkMutation bulk = BulkMutation.create(TableId.of(table));
    for (String key : keys) {
      bulk.add(key, Mutation.create().setCell("f", "q", 1000, key));
    }
    data.bulkMutateRows(bulk);
  }

  /** The table of long scans, made when first asked for. */
  String longTable() {
    if (longTable == null) {
      String table = table("long", "f");
      fill(table, LONG_ROWS, LONG_VALUE);
      longTable = table;
    }
    return longTable;
  }

  void fill(String table, int count) {
    fill(table, count, "x".repeat(100));
  }

  private void fill(String table, int count, String value) {
    for (int start = 0; start < count; start += 5000) {
      BulkMutation bulk = BulkMutation.create(TableId.of(table));
      for (int i = start; i < Math.min(start + 5000, count); i++) {
        bulk.add(String.format("row-%06d", i), Mutation.create().setCell("f", "q", 1000, value));
      }
      data.bulkMutateRows(bulk);
    }
  }

  @Override
  public void close() {
    List<String> left = new ArrayList<>();
    for (String table : tables) {
      try {
        admin.deleteTable(table);
      } catch (NotFoundException gone) {
        continue; // a check deleted it itself, or never made it
      } catch (ApiException failure) {
        left.add(table + ": " + failure.getMessage());
      }
    }
    data.close();
    admin.close();
    Expect.that(left.isEmpty(), "tables that cannot be deleted: " + left);
  }
}
