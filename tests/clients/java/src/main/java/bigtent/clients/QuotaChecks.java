package bigtent.clients;

import com.google.api.gax.rpc.ResourceExhaustedException;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.TableId;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** A refusal by rate is waited for by the client, as the server tells it to. */
final class QuotaChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();

  static {
    ALL.put("quota_refusal_is_waited_for", QuotaChecks::honoured);
  }

  /** More than the tenant may write for some seconds. */
  private static final int OWED_ROWS = 400;

  private QuotaChecks() {}

  /** Counts the answers RESOURCE_EXHAUSTED that the client library saw and did not show. */
  private static final class Refusals implements ClientInterceptor {
    final AtomicInteger count = new AtomicInteger();

    @Override
    public <A, B> ClientCall<A, B> interceptCall(
        MethodDescriptor<A, B> method, CallOptions options, Channel next) {
      return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void start(Listener<B> listener, Metadata headers) {
          super.start(
              new ForwardingClientCallListener.SimpleForwardingClientCallListener<>(listener) {
                @Override
                public void onClose(Status status, Metadata trailers) {
                  if (status.getCode() == Status.Code.RESOURCE_EXHAUSTED) {
                    count.incrementAndGet();
                  }
                  super.onClose(status, trailers);
                }
              },
              headers);
        }
      };
    }
  }

  private static void honoured(World w) throws Exception {
    Target limited =
        w.target
            .limited()
            .orElseThrow(
                () ->
                    new Expect.Failure(
                        "BIGTENT_LIMITED_PROJECT and BIGTENT_LIMITED_KEY are not set"));
    String table = "java-quota-" + w.unique;
    Refusals refusals = new Refusals();
    try (BigtableTableAdminClient admin = limited.admin();
        BigtableDataClient data = limited.data(List.of(refusals), settings -> {})) {
      admin.createTable(CreateTableRequest.of(table).addFamily("f"));
      try {
        int written = writeBeyondTheRate(data, table, refusals);
        int found = 0;
        for (Row row : data.readRows(Query.create(TableId.of(table)))) {
          found += row.getCells().size();
        }
        Expect.equal("rows", found, written);
      } finally {
        delete(admin, table);
      }
    }
  }

  /** That takes its place among the writes, too, and no client waits for it. */
  private static void delete(BigtableTableAdminClient admin, String table) throws Exception {
    for (int turn = 0; turn < 60; turn++) {
      try {
        admin.deleteTable(table);
        return;
      } catch (ResourceExhaustedException refused) {
        Thread.sleep(500);
      }
    }
    throw new Expect.Failure(table + " cannot be deleted");
  }

  private static BulkMutation bulk(String table, String prefix, int rows) {
    BulkMutation bulk = BulkMutation.create(TableId.of(table));
    for (int i = 0; i < rows; i++) {
      bulk.add(prefix + i, Mutation.create().setCell("f", "q", 1000, "v"));
    }
    return bulk;
  }

  /** One bulk passes on credit; then the tenant owes seconds of writes, and the action waits. */
  private static void expectRefused(
      BigtableDataClient data, String table, String name, Refusals refusals, Runnable action) {
    data.bulkMutateRows(bulk(table, name + "-owed-", OWED_ROWS));
    int before = refusals.count.get();
    action.run();
    Expect.that(refusals.count.get() > before, name + ": nothing was refused");
  }

  /** Returns how many rows there should be. */
  private static int writeBeyondTheRate(
      BigtableDataClient data, String table, Refusals refusals) {
    RowMutation row = RowMutation.create(TableId.of(table), "alone").setCell("f", "q", 1000, "v");
    expectRefused(data, table, "alone", refusals, () -> data.mutateRow(row));
    BulkMutation bulk = bulk(table, "bulk-", 10);
    expectRefused(data, table, "bulk", refusals, () -> data.bulkMutateRows(bulk));
    return 2 * OWED_ROWS + 11;
  }
}
