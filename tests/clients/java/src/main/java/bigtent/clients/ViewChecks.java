package bigtent.clients;

import static com.google.cloud.bigtable.data.v2.models.Filters.FILTERS;

import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.api.gax.rpc.FailedPreconditionException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.api.gax.rpc.PermissionDeniedException;
import com.google.cloud.bigtable.admin.v2.models.CreateAuthorizedViewRequest;
import com.google.cloud.bigtable.admin.v2.models.FamilySubsets;
import com.google.cloud.bigtable.admin.v2.models.SubsetView;
import com.google.cloud.bigtable.admin.v2.models.UpdateAuthorizedViewRequest;
import com.google.cloud.bigtable.data.v2.models.AuthorizedViewId;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.ReadModifyWriteRow;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.TableId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Authorized views. */
final class ViewChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();
  private static final String VIEW = "view";

  static {
    ALL.put("view_create_get_list_update_delete", ViewChecks::lifeCycle);
    ALL.put("view_shows_its_part_only", ViewChecks::reads);
    ALL.put("view_takes_writes_of_its_part_only", ViewChecks::writes);
    ALL.put("view_deletion_protection", ViewChecks::protection);
  }

  private ViewChecks() {}

  /** Rows a..., all of family f beginning with pub, and g:one alone. */
  private static SubsetView subset() {
    return SubsetView.create()
        .addRowPrefix("a")
        .setFamilySubsets("f", FamilySubsets.create().addQualifierPrefix("pub"))
        .setFamilySubsets("g", FamilySubsets.create().addQualifier("one"));
  }

  private static AuthorizedViewId viewed(World w, String subject) {
    String table = w.table(subject, "f", "g");
    for (String key : new String[] {"a1", "b1"}) {
      w.data.mutateRow(
          RowMutation.create(TableId.of(table), key)
              .setCell("f", "public", 1000, "1")
              .setCell("f", "secret", 1000, "2")
              .setCell("g", "one", 1000, "3")
              .setCell("g", "oneself", 1000, "4"));
    }
    w.admin.createAuthorizedView(
        CreateAuthorizedViewRequest.of(table, VIEW)
            .setAuthorizedViewType(subset())
            .setDeletionProtection(false));
    return AuthorizedViewId.of(table, VIEW);
  }

  private static void lifeCycle(World w) {
    AuthorizedViewId view = viewed(w, "view");
    String table = view.getTableId();
    Expect.equal(
        "view",
        w.admin.getAuthorizedView(table, VIEW).getAuthorizedViewType(),
        subset());
    Expect.equal("views", w.admin.listAuthorizedViews(table), List.of(VIEW));
    Expect.refused(
        AlreadyExistsException.class,
        "create again",
        () ->
            w.admin.createAuthorizedView(
                CreateAuthorizedViewRequest.of(table, VIEW).setAuthorizedViewType(subset())));
    Expect.equal("narrow", Expect.keys(w, Query.create(view)), "a1");
    w.admin.updateAuthorizedView(
        UpdateAuthorizedViewRequest.of(table, VIEW)
            .setAuthorizedViewType(subset().addRowPrefix("b")));
    Expect.equal("wide", Expect.keys(w, Query.create(view)), "a1,b1");
    w.admin.deleteAuthorizedView(table, VIEW);
    Expect.refused(
        NotFoundException.class, "get deleted", () -> w.admin.getAuthorizedView(table, VIEW));
    Expect.refused(
        NotFoundException.class, "read through a deleted view", () -> w.data.readRow(view, "a1"));
  }

  private static void reads(World w) {
    AuthorizedViewId view = viewed(w, "viewread");
    String shown = "a1 f:public@1000=1 g:one@1000=3";
    Expect.equal("row", Expect.text(w.data.readRow(view, "a1")), shown);
    Expect.equal("row outside", Expect.text(w.data.readRow(view, "b1")), "none");
    Expect.equal("scan", Expect.rows(w, Query.create(view)), List.of(shown));
    Expect.equal("reversed", Expect.rows(w, Query.create(view).reversed(true)), List.of(shown));
    Expect.equal(
        "a filter that would see more",
        Expect.rows(w, Query.create(view).filter(FILTERS.qualifier().exactMatch("secret"))),
        List.of());
    Expect.equal(
        "cells hidden do not count",
        Expect.rows(w, Query.create(view).filter(FILTERS.offset().cellsPerRow(1))),
        List.of("a1 g:one@1000=3"));
  }

  private static void denied(World w, String what, RowMutation mutation) {
    Expect.refused(PermissionDeniedException.class, what, () -> w.data.mutateRow(mutation));
  }

  private static void writes(World w) {
    AuthorizedViewId view = viewed(w, "viewwrite");
    w.data.mutateRow(RowMutation.create(view, "a2").setCell("f", "pub", 1000, "new"));
    Expect.row(w, view.getTableId(), "a2", "a2 f:pub@1000=new");
    denied(w, "a row outside", RowMutation.create(view, "b2").setCell("f", "pub", 1000, "no"));
    denied(w, "a column outside", RowMutation.create(view, "a2").setCell("f", "x", 1000, "no"));
    denied(w, "a whole row", RowMutation.create(view, "a2").deleteRow());
    Expect.refused(
        PermissionDeniedException.class,
        "a column outside to append to",
        () ->
            w.data.readModifyWriteRow(
                ReadModifyWriteRow.create(view, "a1").append("f", "secret", "x")));
    w.data.bulkMutateRows(
        BulkMutation.create(view).add("a3", Mutation.create().setCell("g", "one", 1000, "yes")));
    Expect.equal(
        "table",
        Expect.keys(w, Query.create(TableId.of(view.getTableId()))),
        "a1,a2,a3,b1");
  }

  private static void protect(World w, AuthorizedViewId view, boolean protect) {
    w.admin.updateAuthorizedView(
        UpdateAuthorizedViewRequest.of(view.getTableId(), VIEW).setDeletionProtection(protect));
  }

  private static void protection(World w) {
    AuthorizedViewId view = viewed(w, "viewkept");
    protect(w, view, true);
    Expect.refused(
        FailedPreconditionException.class,
        "delete a protected view",
        () -> w.admin.deleteAuthorizedView(view.getTableId(), VIEW));
    protect(w, view, false);
    w.admin.deleteAuthorizedView(view.getTableId(), VIEW);
  }
}
