"""What schemathesis has to be told, because OpenAPI 3.1 cannot say it.

Lines: a body of application/x-ndjson is described as a string with a contentSchema, which is each
line's. Here it becomes a list of such lines, so that requests are made of lines that mean something,
and the lines of answers are held against their schema.

Rules between parts of a request:
- a page token that was made up belongs to no query, so none is sent;
- only one credential may be given: it is always the bearer's;
- If-Match and If-None-Match exclude each other, so the second is left out; the first is, too, where
  a table is made, so that a deleted one comes back;
- Idempotency-Start needs Idempotency-Key, so it is left out;
- an offboarding must repeat the tenant's ID, which schemathesis.toml sets;
- a table is split when it is made and never again, so no splits are sent;
- a key is bound to tenants that exist: the one that requests are about;
- a key that is limited to rows cannot have the scope table.admin, so none is made;
- a tenant that may have fewer keys than it has would be 403 for each new one, so that is not set.

Names of families are those of the table that check.sh makes, so that writes get through, and one more.
"""

import json

import schemathesis

NDJSON = "application/x-ndjson"
FAMILIES = ["stats", "raw", "hits", "people", "none"]


def lines_to_lists(node):
    """In place, wherever a body is described."""
    if isinstance(node, dict):
        body = node.get(NDJSON)
        if isinstance(body, dict):
            node[NDJSON] = {"schema": {"type": "array", "items": body["schema"]["contentSchema"]}}
        for value in node.values():
            lines_to_lists(value)
    elif isinstance(node, list):
        for value in node:
            lines_to_lists(value)


def leave_out(operation, *endings):
    operation["parameters"] = [
        one for one in operation["parameters"] if not one.get("$ref", "").endswith(endings)
    ]


def keep_rules(raw_schema):
    schemas = raw_schema["components"]["schemas"]
    for item in raw_schema["paths"].values():
        for operation in item.values():
            leave_out(operation, "/query_page_token", "if_none_match", "/header_idempotency_start")
    leave_out(raw_schema["paths"]["/v1/tables/{table}"]["put"], "/header_if_match")
    del schemas["Read"]["properties"]["page_token"]
    raw_schema["security"] = [{"bearer": []}]
    schemas["Offboarding"]["properties"]["confirm"] = {"const": "leaving"}
    schemas["TenantRestore"]["properties"]["confirm"] = {"const": "governed"}
    for name in "splits", "splits_b64":
        del schemas["TablePut"]["properties"][name]
    del schemas["QuotaPut"]["properties"]["keys"]
    for kind in [schemas["TenantKeyCreate"], *schemas["KeyCreate"]["oneOf"]]:
        if "tenants" in kind["properties"]:
            kind["properties"]["tenants"]["items"] = {"const": "governed"}
        if kind.pop("not", None) is not None:
            for name in "row_prefix", "row_prefix_b64":
                del kind["properties"][name]


@schemathesis.hook
def before_load_schema(context, raw_schema):
    lines_to_lists(raw_schema)
    keep_rules(raw_schema)
    schemas = raw_schema["components"]["schemas"]
    schemas["FamilyName"] = {"type": "string", "enum": FAMILIES}
    schemas["FamilyOrBinary"] = {"type": "string", "enum": [*FAMILIES, "$binary"]}


@schemathesis.serializer(NDJSON)
def lines_of(context, value):
    lines = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@schemathesis.deserializer(NDJSON)
def list_of(context, response):
    return [json.loads(line) for line in response.content.splitlines()]
