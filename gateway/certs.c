/*
 * gateway/certs.c - a development certificate authority and a server certificate from it.
 */
#include "gateway/certs.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <strings.h>

#include "base/file.h"

#include "base/banned.h"

#define CA_NAME         "Bigtent development CA"
#define CA_DAYS         3650
#define SERVER_DAYS     825
#define SECONDS_PER_DAY 86400L
#define CLOCK_SKEW_S    3600L
#define SERIAL_BITS     127
#define DNS_NAME_MAX    253
#define DNS_LABEL_MAX   63
#define SAN_MAX         (GW_CERT_HOSTS * (DNS_NAME_MAX + 8) + 128)

static enum err fail_openssl(struct errbuf *eb, const char *what)
{
    char text[160];
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    return base_fail(eb, ERR_IO, "cannot make %s: %s", what, text);
}

/* --- names -------------------------------------------------------------------------------------
 */

static bool is_address(const char *host)
{
    uint8_t address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool is_label(const char *label, size_t len)
{
    if (len == 0 || len > DNS_LABEL_MAX || label[0] == '-' || label[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = (char)(label[i] | 0x20);
        bool is_digit = label[i] >= '0' && label[i] <= '9';
        if (!is_digit && label[i] != '-' && (c < 'a' || c > 'z'))
            return false;
    }
    return true;
}

enum err gw_cert_host_check(const char *host, struct errbuf *eb)
{
    if (is_address(host))
        return ERR_OK;
    const char *rest = strncmp(host, "*.", 2) == 0 ? host + 2 : host;
    bool is_name = strlen(host) <= DNS_NAME_MAX;
    while (is_name && rest != NULL) {
        const char *dot = strchr(rest, '.');
        is_name = is_label(rest, dot == NULL ? strlen(rest) : (size_t)(dot - rest));
        rest = dot == NULL ? NULL : dot + 1;
    }
    if (!is_name)
        return base_fail(eb, ERR_INVALID, "\"%.60s\" is neither a host name nor an IP address",
                         host);
    return ERR_OK;
}

/* Writes "DNS:localhost,IP:127.0.0.1,...": every host was checked, so none can hold a comma. */
static enum err alternative_names(const char *const *hosts, size_t count, struct buf *out,
                                  struct errbuf *eb)
{
    if (count > GW_CERT_HOSTS)
        return base_fail(eb, ERR_TOO_BIG, "%zu host names; the limit is %d", count, GW_CERT_HOSTS);
    (void)base_buf_append_text(out, "DNS:localhost,IP:127.0.0.1,IP:::1"); /* all of these latch */
    for (size_t i = 0; i < count; i++) {
        enum err e = gw_cert_host_check(hosts[i], eb);
        if (e != ERR_OK)
            return e;
        (void)base_buf_printf(out, ",%s:%s", is_address(hosts[i]) ? "IP" : "DNS", hosts[i]);
    }
    (void)base_buf_append_byte(out, '\0');
    return out->error == ERR_OK ? ERR_OK : base_fail(eb, out->error, "too many host names");
}

/* --- certificates ------------------------------------------------------------------------------
 */

static bool set_serial(X509 *cert)
{
    BIGNUM *number = BN_new();
    bool ok = number != NULL && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
              BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return ok;
}

static bool set_subject(X509 *cert, const char *common_name)
{
    X509_NAME *name = X509_get_subject_name(cert);
    return name != NULL &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name,
                                      -1, -1, 0) == 1;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool ok = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

/* Creates a certificate with everything but extensions and signature. */
static X509 *begin_cert(EVP_PKEY *key, const char *common_name, long days)
{
    X509 *cert = X509_new();
    bool ok = cert != NULL && X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
              X509_gmtime_adj(X509_getm_notBefore(cert), -CLOCK_SKEW_S) != NULL &&
              X509_gmtime_adj(X509_getm_notAfter(cert), days * SECONDS_PER_DAY) != NULL &&
              X509_set_pubkey(cert, key) == 1 && set_subject(cert, common_name);
    if (ok)
        return cert;
    X509_free(cert);
    return NULL;
}

static X509 *make_ca(EVP_PKEY *key)
{
    X509 *cert = begin_cert(key, CA_NAME, CA_DAYS);
    bool ok = cert != NULL && X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
              add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
              add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
              add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
              X509_sign(cert, key, EVP_sha256()) > 0;
    if (ok)
        return cert;
    X509_free(cert);
    return NULL;
}

static X509 *make_server(EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key, const char *names)
{
    X509 *cert = begin_cert(key, "Bigtent server", SERVER_DAYS);
    bool ok = cert != NULL && X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 &&
              add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
              add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
              add_extension(cert, ca, NID_ext_key_usage, "serverAuth") &&
              add_extension(cert, ca, NID_subject_alt_name, names) &&
              add_extension(cert, ca, NID_subject_key_identifier, "hash") &&
              add_extension(cert, ca, NID_authority_key_identifier, "keyid") &&
              X509_sign(cert, ca_key, EVP_sha256()) > 0;
    if (ok)
        return cert;
    X509_free(cert);
    return NULL;
}

/* --- files -------------------------------------------------------------------------------------
 */

/* Writes the contents of bio to a file, then frees it; a memory BIO's bytes are wiped when it is
 * freed. */
static enum err write_bio(BIO *bio, const char *dir, const char *name, mode_t mode,
                          struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    char *bytes = NULL;
    long len = BIO_get_mem_data(bio, &bytes);
    enum err e = base_path_join(path, dir, name, eb);
    if (e == ERR_OK)
        e = base_file_create(path, base_slice(bytes, (size_t)len), mode, eb);
    BIO_free(bio);
    return e;
}

static enum err write_cert(X509 *cert, const char *dir, const char *name, struct errbuf *eb)
{
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio == NULL || PEM_write_bio_X509(bio, cert) != 1) {
        BIO_free(bio);
        return fail_openssl(eb, name);
    }
    return write_bio(bio, dir, name, 0644, eb);
}

static enum err write_key(EVP_PKEY *key, const char *dir, const char *name, struct errbuf *eb)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    if (bio == NULL || PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1) {
        BIO_free(bio);
        return fail_openssl(eb, name);
    }
    return write_bio(bio, dir, name, 0600, eb);
}

enum err gw_certs_make(const char *dir, const char *const *hosts, size_t host_count,
                       struct errbuf *eb)
{
    struct buf names;
    base_buf_init(&names, SAN_MAX);
    enum err e = alternative_names(hosts, host_count, &names, eb);
    if (e != ERR_OK) {
        base_buf_fini(&names);
        return e;
    }
    EVP_PKEY *ca_key = EVP_EC_gen("P-256");
    EVP_PKEY *server_key = EVP_EC_gen("P-256");
    X509 *ca = ca_key == NULL ? NULL : make_ca(ca_key);
    X509 *server = ca == NULL || server_key == NULL
                       ? NULL
                       : make_server(server_key, ca, ca_key, (const char *)names.ptr);
    if (server == NULL)
        e = fail_openssl(eb, "the development certificates");
    if (e == ERR_OK)
        e = write_key(ca_key, dir, "ca.key", eb);
    if (e == ERR_OK)
        e = write_cert(ca, dir, "ca.pem", eb);
    if (e == ERR_OK)
        e = write_key(server_key, dir, "server.key", eb);
    if (e == ERR_OK)
        e = write_cert(server, dir, "server.pem", eb);
    X509_free(server);
    X509_free(ca);
    EVP_PKEY_free(server_key);
    EVP_PKEY_free(ca_key);
    base_buf_fini(&names);
    return e;
}
