/* cli/public_key.c - --pubkey FILE. */
#include "cli/public_key.h"

#include "base/file.h"
#include "base/sealed_line.h"
#include "cli/out.h"

#include "base/banned.h"

enum cli_exit cli_public_key_read(const char *path, EVP_PKEY **out)
{
    struct buf pem;
    struct errbuf eb = {{0}};
    enum err e = base_file_read(path, BASE_SEAL_PEM_MAX, &pem, &eb);
    if (e == ERR_OK)
        e = base_seal_public_read(base_buf_slice(&pem), out, &eb);
    base_buf_fini(&pem);
    return e == ERR_OK ? CLI_OK : cli_fail(CLI_USAGE, "--pubkey %s: %s", path, eb.text);
}
