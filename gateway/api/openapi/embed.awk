# gateway/api/openapi/embed.awk - the files given, as the C array gw_openapi_parts.

BEGIN {
    print "#include \"gateway/api/openapi.h\""
}

FNR == 1 {
    if (count > 0)
        print "    ;"
    names[++count] = FILENAME
    printf "\nstatic const char part_%d[] =\n", count
}

{
    gsub(/["\\]/, "\\\\&")
    print "    \"" $0 "\\n\""
}

END {
    print "    ;\n\nconst struct gw_openapi_part gw_openapi_parts[] = {"
    for (i = 1; i <= count; i++)
        printf "    {\"%s\", part_%d},\n", names[i], i
    print "    {NULL, NULL},\n};"
}
