package bigtent.clients;

import static com.google.cloud.bigtable.admin.v2.models.GCRules.GCRULES;

import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.api.gax.rpc.FailedPreconditionException;
import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminClient;
import com.google.cloud.bigtable.admin.v2.models.ColumnFamily;
import com.google.cloud.bigtable.admin.v2.models.ConsistencyRequest;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.admin.v2.models.GCRules.GCRule;
import com.google.cloud.bigtable.admin.v2.models.ModifyColumnFamiliesRequest;
import com.google.cloud.bigtable.admin.v2.models.UpdateTableRequest;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.protobuf.ByteString;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Tables, families, rules, deletion of ranges, tokens, instances. */
final class TableChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();
  /** The client of instances cannot be had for an emulator. */
  static final Map<String, Check> OVER_TLS = new LinkedHashMap<>();

  static {
    ALL.put("table_create_get_list_delete", TableChecks::lifeCycle);
    ALL.put("table_gc_rules_round_trip", TableChecks::rules);
    ALL.put("table_gc_removes_old_versions", TableChecks::garbage);
    ALL.put("table_families_create_update_drop", TableChecks::families);
    ALL.put("table_families_change_atomically_or_not_at_all", TableChecks::familiesRefused);
    ALL.put("table_deletion_protection", TableChecks::protection);
    ALL.put("table_drop_rows_by_prefix", TableChecks::dropPrefix);
    ALL.put("table_drop_all_rows", TableChecks::dropAll);
    ALL.put("table_await_consistency", TableChecks::consistency);
    ALL.put("table_presplit_samples", TableChecks::splits);
    OVER_TLS.put("instance_and_clusters", TableChecks::instances);
  }

  private TableChecks() {}

  private static String familiesOf(World w, String table) {
    return w.admin.getTable(table).getColumnFamilies().stream()
        .map(ColumnFamily::getId)
        .sorted()
        .collect(Collectors.joining(","));
  }

  private static void lifeCycle(World w) {
    String table = w.table("life", "f", "g");
    Expect.equal("families", familiesOf(w, table), "f,g");
    Expect.that(w.admin.listTables().contains(table), table + " is not listed");
    Expect.that(w.admin.exists(table), table + " does not exist");
    Expect.refused(
        AlreadyExistsException.class,
        "create again",
        () -> w.admin.createTable(CreateTableRequest.of(table)));
    w.admin.deleteTable(table);
    Expect.refused(NotFoundException.class, "get deleted", () -> w.admin.getTable(table));
    Expect.refused(NotFoundException.class, "delete again", () -> w.admin.deleteTable(table));
    Expect.that(!w.admin.exists(table), table + " still exists");
  }

  private static void rules(World w) {
    Map<String, GCRule> rules = new TreeMap<>();
    GCRule versions = GCRULES.maxVersions(3);
    GCRule age = GCRULES.maxAge(36, TimeUnit.HOURS);
    rules.put("age", age);
    rules.put("both", GCRULES.intersection().rule(versions).rule(age));
    rules.put("none", GCRULES.defaultRule());
    rules.put("any", GCRULES.union().rule(versions).rule(age));
    rules.put(
        "nested",
        GCRULES.union().rule(age).rule(GCRULES.intersection().rule(versions).rule(age)));
    rules.put("versions", versions);
    CreateTableRequest request = CreateTableRequest.of(w.name("rules"));
    rules.forEach(request::addFamily);
    String table = w.admin.createTable(request).getId();
    Map<String, GCRule> found = new TreeMap<>();
    for (ColumnFamily family : w.admin.getTable(table).getColumnFamilies()) {
      found.put(family.getId(), family.getGCRule());
    }
    Expect.equal("rules", found, rules);
  }

  private static void garbage(World w) throws Exception {
    CreateTableRequest request =
        CreateTableRequest.of(w.name("versions")).addFamily("f", GCRULES.maxVersions(2));
    String table = w.admin.createTable(request).getId();
    for (int i = 1; i <= 4; i++) {
      w.put(table, "r", "f", "q", 1000L * i, "v" + i);
    }
    String expected = "r f:q@4000=v4 f:q@3000=v3";
    String got = "";
    for (int tries = 0; tries < 60 && !got.equals(expected); tries++) {
      got = Expect.text(w.data.readRow(TableId.of(table), "r"));
      Thread.sleep(got.equals(expected) ? 0 : 500);
    }
    Expect.equal("row", got, expected);
  }

  private static void families(World w) {
    String table = w.table("families", "f", "g");
    long now = System.currentTimeMillis() * 1000;
    String left = "r f:q@" + now + "=young";
    w.put(table, "r", "f", "q", now, "young");
    w.put(table, "r", "f", "q", 1000, "older than the age f will have");
    w.put(table, "r", "g", "q", now, "gone with g");
    w.admin.modifyFamilies(
        ModifyColumnFamiliesRequest.of(table)
            .addFamily("h", GCRULES.maxVersions(7))
            .updateFamily("f", GCRULES.maxAge(72, TimeUnit.HOURS))
            .dropFamily("g"));
    Expect.equal("families", familiesOf(w, table), "f,h");
    Expect.row(w, table, "r", left);
    for (ColumnFamily family : w.admin.getTable(table).getColumnFamilies()) {
      GCRule expected =
          family.getId().equals("h")
              ? GCRULES.maxVersions(7)
              : GCRULES.maxAge(72, TimeUnit.HOURS);
      Expect.equal("rule of " + family.getId(), family.getGCRule(), expected);
    }
    w.admin.modifyFamilies(ModifyColumnFamiliesRequest.of(table).addFamily("g"));
    Expect.row(w, table, "r", left);
  }

  private static void familiesRefused(World w) {
    String table = w.table("refused", "f");
    ModifyColumnFamiliesRequest twice =
        ModifyColumnFamiliesRequest.of(table).addFamily("new").addFamily("f");
    Expect.refused(
        AlreadyExistsException.class, "create f again", () -> w.admin.modifyFamilies(twice));
    ModifyColumnFamiliesRequest unknown =
        ModifyColumnFamiliesRequest.of(table).dropFamily("f").dropFamily("nobody");
    Expect.refused(
        NotFoundException.class, "drop unknown", () -> w.admin.modifyFamilies(unknown));
    Expect.equal("families", familiesOf(w, table), "f");
  }

  private static void protection(World w) {
    CreateTableRequest request =
        CreateTableRequest.of(w.name("kept")).addFamily("f").setDeletionProtection(true);
    String table = w.admin.createTable(request).getId();
    Expect.that(w.admin.getTable(table).isDeletionProtected(), "not protected");
    Expect.refused(
        FailedPreconditionException.class, "delete", () -> w.admin.deleteTable(table));
    w.admin.updateTable(UpdateTableRequest.of(table).setDeletionProtection(false));
    Expect.that(!w.admin.getTable(table).isDeletionProtected(), "still protected");
    w.admin.deleteTable(table);
  }

  private static void dropPrefix(World w) {
    String table = w.table("prefix", "f");
    w.putRows(table, "a", "b", "b#1", "b#2", "c");
    w.admin.dropRowRange(table, "b#");
    Expect.equal("after b#", Expect.keys(w, Query.create(TableId.of(table))), "a,b,c");
    w.putRows(table, "b#1");
    Expect.equal("again", Expect.keys(w, Query.create(TableId.of(table))), "a,b,b#1,c");
    w.admin.dropRowRange(table, "b");
    Expect.equal("after b", Expect.keys(w, Query.create(TableId.of(table))), "a,c");
    Expect.refused(
        InvalidArgumentException.class,
        "an empty prefix",
        () -> w.admin.dropRowRange(table, ByteString.EMPTY));
  }

  private static void dropAll(World w) {
    String table = w.table("all", "f");
    w.putRows(table, "a", "b");
    w.admin.dropAllRows(table);
    Expect.equal("dropped", Expect.keys(w, Query.create(TableId.of(table))), "");
    w.putRows(table, "b");
    Expect.equal("again", Expect.keys(w, Query.create(TableId.of(table))), "b");
    Expect.refused(
        NotFoundException.class, "no such table", () -> w.admin.dropAllRows(table + "x"));
  }

  private static void consistency(World w) {
    String table = w.table("token", "f");
    w.admin.awaitConsistency(ConsistencyRequest.forReplication(table));
    Expect.refused(
        NotFoundException.class,
        "no such table",
        () -> w.admin.awaitConsistency(ConsistencyRequest.forReplication(table + "x")));
  }

  private static void splits(World w) {
    CreateTableRequest request = CreateTableRequest.of(w.name("split")).addFamily("f");
    for (String split : new String[] {"d", "h", "p"}) {
      request.addSplit(ByteString.copyFromUtf8(split));
    }
    String table = w.admin.createTable(request).getId();
    String samples =
        w.data.sampleRowKeys(TableId.of(table)).stream()
            .map(sample -> Expect.text(sample.getKey()))
            .collect(Collectors.joining(","));
    Expect.equal("samples", samples, "d,h,p,");
  }

  private static void instances(World w) throws Exception {
    try (BigtableInstanceAdminClient client = w.target.instances()) {
      Expect.equal("instances", client.listInstances().size(), 1);
      Expect.equal(
          "instance", client.getInstance(w.target.instance()).getId(), w.target.instance());
      Expect.equal("clusters", client.listClusters(w.target.instance()).size(), 1);
      Expect.refused(
          NotFoundException.class, "unknown instance", () -> client.getInstance("nobody"));
    }
  }
}
