# tests/lint/places.awk - every kind of document is a row of storage/places.h.
#
# A purge deletes, compacts, counts and searches the kinds of that table, and a certificate names what stays of them. A
# letter of a key that is written out elsewhere is a place that they do not know: keys are made of sto_doc_prefix() and
# the STO_DOC_ enumerators. (A document under a letter without a row is refused by storage/rocksdb/docs.c as well.)

FNR == 1 {
    file = FILENAME
    room = room_of(file)
    read = (room == "storage" || room == "tenancy" || room == "auth" || room == "migrations" || room == "gateway") &&
        file !~ /^storage\/places\.[ch]$/
}

!read { next }

{
    code = code_of($0)
    if (code ~ /^[ \t]*$/)
        next
    text = $0
    gsub(/\/\*.*\*\//, "", text)
    if (text ~ /"[a-z]\/["%]/ || text ~ /'[a-z]', *'\/'/ || text ~ /sto_range_of_docs\(.*'[a-z]'/ ||
        text ~ /\[(0|n\+\+)\] = '[a-z]'/)
        finding(file, FNR, "a kind of document has a row in storage/places.h, and its letter is written there alone")
}
