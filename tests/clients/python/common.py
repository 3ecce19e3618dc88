"""What the programs of this folder share: where the server is, and how checks are told.

A program is a list of checks: functions that return, or raise. Each gives one line on stdout, "ok
NAME" or "not ok NAME: why"; a traceback goes to stderr. Clients are made as their users make them.
"""

import base64
import contextlib
import inspect
import os
import pathlib
import re
import signal
import sys
import time
import traceback
import warnings

EMULATOR = os.environ.get("BIGTABLE_EMULATOR_HOST")
ENDPOINT = os.environ.get("BIGTENT_ENDPOINT", "")
PROJECT = os.environ["BIGTENT_PROJECT"]
OTHER_PROJECT = os.environ["BIGTENT_OTHER_PROJECT"]
INSTANCE = os.environ.get("BIGTENT_INSTANCE", "main")
CHECK_SECONDS = 120


def tenant(name):
    """Tenants beside those two, made by run.sh. The plaintext listener has its own."""
    return f"dev-{name}" if EMULATOR else name


HASTY = tenant("hasty")

LARGE_BYTES = 20_000_000
# A row comes whole, in one message, of which the libraries take up to 4 MiB in plaintext.
LARGE_BYTES_OF_LIBRARY = 4_000_000 if EMULATOR else LARGE_BYTES

# grpc reads this when it is first used.
if not EMULATOR:
    os.environ["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = os.environ["BIGTENT_CA"]

import grpc
from google.api_core import exceptions, retry
from google.api_core.client_options import ClientOptions
from google.cloud import bigtable, bigtable_admin_v2, bigtable_v2
from google.cloud.bigtable.data import BigtableDataClient, BigtableDataClientAsync
from google.cloud.bigtable_admin_v2.services.bigtable_table_admin import transports as admin_wires
from google.cloud.bigtable_v2.services.bigtable import transports as data_wires
from google.oauth2.credentials import Credentials
from google.rpc import error_details_pb2

warnings.filterwarnings("ignore", message="Connecting to Bigtable emulator")

# --- clients -------------------------------------------------------------------------------------


def key_of(project):
    """The key of a tenant; none in the clear, where the project alone names the tenant."""
    if EMULATOR:
        return None
    known = {PROJECT: "BIGTENT_KEY", OTHER_PROJECT: "BIGTENT_OTHER_KEY"}
    if project in known:
        return os.environ[known[project]]
    return (pathlib.Path(os.environ["BIGTENT_KEYS"]) / f"{project}.key").read_text().strip()


def login(key):
    """Options of a client that go with a key."""
    if EMULATOR:
        return {}
    options = ClientOptions(api_endpoint=ENDPOINT)
    return {"credentials": Credentials(token=key), "client_options": options}


def classic_client(project=PROJECT, key=None):
    options = login(key or key_of(project))
    if options:
        options["admin_client_options"] = options["client_options"]
    return bigtable.Client(project=project, admin=True, **options)


def data_client(project=PROJECT, key=None):
    return BigtableDataClient(project=project, **login(key or key_of(project)))


def async_data_client(project=PROJECT, key=None):
    return BigtableDataClientAsync(project=project, **login(key or key_of(project)))


def generated(client, transport, project, key):
    if EMULATOR:
        unlimited = [("grpc.max_receive_message_length", -1)]
        return client(transport=transport(channel=grpc.insecure_channel(EMULATOR, unlimited)))
    return client(**login(key or key_of(project)))


def table_admin(project=PROJECT, key=None):
    client = bigtable_admin_v2.BigtableTableAdminClient
    return generated(client, admin_wires.BigtableTableAdminGrpcTransport, project, key)


def raw_client(project=PROJECT, key=None):
    """The generated client: messages as they are."""
    return generated(bigtable_v2.BigtableClient, data_wires.BigtableGrpcTransport, project, key)


def features(**flags):
    """Metadata that says what a caller of the generated client understands."""
    flags = bigtable_v2.types.FeatureFlags(**flags)
    encoded = base64.urlsafe_b64encode(type(flags).serialize(flags)).decode()
    return [("bigtable-features", encoded)]


def instance_name(project=PROJECT):
    return f"projects/{project}/instances/{INSTANCE}"


def table_name(table, project=PROJECT):
    return f"{instance_name(project)}/tables/{table}"


# Tables are made and deleted like this, since that takes its place among the writes, too, where
# these are limited.
PATIENT = retry.Retry(
    retry.if_exception_type(exceptions.ResourceExhausted), initial=0.2, maximum=1, timeout=60
)
made_tables = 0


def new_table_id(subject):
    """A name nobody else uses: several programs share a tenant."""
    global made_tables
    made_tables += 1
    return f"{subject}-{os.getpid()}-{time.time_ns() % 10**10}-{made_tables}"[-50:].lstrip("-.")


@contextlib.contextmanager
def table(subject, families, project=PROJECT, splits=()):
    """A table of its own for a check: families are names, or names with a GcRule."""
    if not isinstance(families, dict):
        families = {name: None for name in families}
    admin = table_admin(project)
    made = PATIENT(admin.create_table)(
        bigtable_admin_v2.CreateTableRequest(
            parent=instance_name(project),
            table_id=new_table_id(subject),
            table=bigtable_admin_v2.Table(
                column_families={
                    name: bigtable_admin_v2.ColumnFamily(gc_rule=rule)
                    for name, rule in families.items()
                }
            ),
            initial_splits=[{"key": key} for key in splits],
        )
    )
    try:
        yield made.name.rsplit("/", 1)[1]
    finally:
        admin.delete_table(name=made.name, retry=PATIENT)


# --- expectations --------------------------------------------------------------------------------


def same(got, wanted, what="value"):
    if got != wanted:
        raise AssertionError(f"{what}: got {short(got)}, wanted {short(wanted)}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


def short(value, limit=400):
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


class Refusal:
    error = None


@contextlib.contextmanager
def refused(kind):
    """The block ends with that very exception of the client; it is in the result's error."""
    seen = Refusal()
    try:
        yield seen
    except Exception as error:
        seen.error = error
        if type(error) is not kind:
            got = f"{type(error).__name__} ({error})"
            raise AssertionError(f"{got} in place of {kind.__name__}") from error
        return
    raise AssertionError(f"no {kind.__name__}")


def retry_delay_s(error):
    """Seconds the server asks to wait for in a google.rpc.RetryInfo, or None."""
    for detail in error.details or ():
        if isinstance(detail, error_details_pb2.RetryInfo):
            return detail.retry_delay.ToTimedelta().total_seconds()
        info = error_details_pb2.RetryInfo()
        if hasattr(detail, "Unpack") and detail.Unpack(info):
            return info.retry_delay.ToTimedelta().total_seconds()
    return None


def eventually(attempt, seconds, what):
    """Ask until the answer is true."""
    end = time.monotonic() + seconds
    while not attempt():
        holds(time.monotonic() < end, f"{what} not within {seconds} s")
        time.sleep(0.1)


async def maybe(value):
    """The answer of a client that may be asynchronous."""
    return await value if inspect.isawaitable(value) else value


# --- telling -------------------------------------------------------------------------------------


def stop(_signal, _frame):
    raise TimeoutError(f"no end after {CHECK_SECONDS} s")


class Checks:
    """The checks of a program, in the order they are written."""

    def __init__(self, program):
        self.program = program
        self.checks = []

    def check(self, function):
        self.checks.append((function.__name__, function))
        return function

    def over_tls(self, function):
        """Only where there are keys: the plaintext listener knows none."""
        return function if EMULATOR else self.check(function)

    def case(self, name, function):
        self.checks.append((name, function))

    def wanted(self):
        """All, or by hand those that match ONLY."""
        only = re.compile(os.environ.get("ONLY", ""))
        return [one for one in self.checks if only.search(one[0])]

    def told(self, name, error):
        label = f"{self.program}/{name}"
        if error is None:
            print(f"ok {label}", flush=True)
        else:
            why = " ".join(f"{type(error).__name__} {error}".split())
            print(f"not ok {label}: {why[:600]}", flush=True)
            print(f"--- {label}", file=sys.stderr)
            traceback.print_exception(error, file=sys.stderr)
        return error is None

    def run(self, *arguments):
        signal.signal(signal.SIGALRM, stop)
        failed = 0
        for name, function in self.wanted():
            signal.alarm(CHECK_SECONDS)
            try:
                function(*arguments)
                failed += not self.told(name, None)
            except Exception as error:
                failed += not self.told(name, error)
            finally:
                signal.alarm(0)
        return 1 if failed else 0

    async def run_async(self, *arguments):
        signal.signal(signal.SIGALRM, stop)
        failed = 0
        for name, function in self.wanted():
            signal.alarm(CHECK_SECONDS)
            try:
                await function(*arguments)
                failed += not self.told(name, None)
            except Exception as error:
                failed += not self.told(name, error)
            finally:
                signal.alarm(0)
        return 1 if failed else 0


# --- rows ----------------------------------------------------------------------------------------

KEYS = [b"a", b"a#1", b"a#2", b"a$", b"b", b"b#1", b"c\x00", b"c\x00\x00", b"\xff", b"\xff\xff"]

# Together far more than any client takes in ahead of a slow reader.
SCAN_ROWS = 100_000
SCAN_VALUE = b"v" * 300
# Of one bulk write: more than the limited tenant may write for some seconds. It passes, on credit,
# and what comes next is refused.
OWED_ROWS = 400


def scan_key(number):
    return b"row#%08d" % number


def in_family_order(cells):
    """Cells are (row, family, qualifier, timestamp, value, labels). Which family of a row comes
    first is the server's choice; the order of cells inside a family is not."""
    rows = {}
    for cell in cells:
        rows.setdefault(cell[0], []).append(cell)
    return [cell for row in rows.values() for cell in sorted(row, key=lambda one: one[1])]


# What programs take from here besides what is made here.
__all__ = ["bigtable_admin_v2", "bigtable_v2", "exceptions"]
