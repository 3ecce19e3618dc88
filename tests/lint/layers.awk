# tests/lint/layers.awk - who may include and call whom.

BEGIN {
    rooms = split("base storage tenancy auth migrations gateway", order, " ")
    for (i = 1; i <= rooms; i++)
        rank[order[i]] = i
}

FNR == 1 {
    check_last_include()
    file = FILENAME
    room = room_of(file)
    is_test = room == "tests"
    last_include = ""
    last_line = 1
    if (file ~ /\.cc$/ && file != "storage/pattern.cc" && file !~ /^storage\/rocksdb\//)
        finding(file, 1, "C++ belongs to storage/pattern.cc and storage/rocksdb/")
}

{
    code = code_of($0)
    if (code ~ /^[ \t]*#[ \t]*include/) {
        included = include_of($0)
        if (included != "") {
            last_include = included
            last_line = FNR
            check_include(substr(included, 1, 1), substr(included, 2))
        }
    }
    check_calls(code)
}

END {
    check_last_include()
}

function is_room(name) {
    return name in rank || name == "cli"
}

function check_include(mark, path,    target) {
    if (is_test)
        return
    check_foreign(path)
    if (mark != "\"")
        return
    target = room_of(path)
    if (!is_room(target))
        finding(file, FNR, "\"" path "\" is not a room's header, written from the root")
    else if (room == "cli" && target != "cli" && target != "base")
        finding(file, FNR, "cli/ may include only base/, not " path)
    else if (room != "cli" && target == "cli")
        finding(file, FNR, "nothing may include cli/: " path)
    else if (room != "cli" && is_room(room) && rank[target] > rank[room])
        finding(file, FNR, room "/ may not include upward: " path)
}

function check_foreign(path) {
    if ((path == "h2o.h" || path ~ /^h2o\//) && room != "gateway")
        finding(file, FNR, "h2o belongs to gateway/")
    if (path ~ /^nghttp2\// && room != "gateway" && file !~ /^storage\/bigtable\//)
        finding(file, FNR, "nghttp2 belongs to gateway/ and storage/bigtable/")
    if (path ~ /^rocksdb\// && file !~ /^storage\/rocksdb\//)
        finding(file, FNR, "rocksdb belongs to storage/rocksdb/")
    if (path ~ /^re2\// && file != "storage/pattern.cc")
        finding(file, FNR, "re2 belongs to storage/pattern.cc")
    if (path ~ /^intel-ipsec-mb/ && file != "storage/gcm_ipsec_mb.c")
        finding(file, FNR, "ipsec-mb belongs to storage/gcm_ipsec_mb.c")
    if (path ~ /^jansson/ && (room == "base" || room == "storage"))
        finding(file, FNR, "base/ and storage/ know no JSON")
}

# A reversed range stops the writes of every tenant: one file makes ranges into calls, but for a
# measurement on a database of its own, and a test that compacts all as RocksDB does by itself.
function check_calls(code,    name) {
    while (match(code, /rocksdb_[a-z0-9_]+/)) {
        name = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        if (name ~ /^rocksdb_(delete_range_cf|writebatch(_wi)?_delete_range|delete_file_in_range)/ ||
            name ~ /^rocksdb_compact_range/) {
            if (file != "storage/rocksdb/ranges.c" && file != "tests/bench/drop.c" &&
                file != "tests/storage/test_engine_pace.c")
                finding(file, FNR, name " belongs to storage/rocksdb/ranges.c alone")
        }
    }
}

{
    if (code ~ /(^|[^A-Za-z0-9_])sto_scope_open[ \t]*\(/ && file != "tenancy/scope.c" &&
        file !~ /^tests\/(storage|bench|fuzz|check)\// && file !~ /^storage\/scope\.[ch]$/ &&
        file != "tests/support/bed.c")
        finding(file, FNR, "sto_scope_open is called in tenancy/scope.c alone")
}

function check_last_include() {
    if (file !~ /\.c$/ || !is_room(room))
        return
    if (last_include != "\"base/banned.h")
        finding(file, last_line, "base/banned.h must be the last include")
}
