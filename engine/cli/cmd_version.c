/* glint version: prints the version, and the libraries in use, to compare with security
 * advisories. */
#include "engine/cli/cli.h"
#include "engine/cli/options.h"
#include "engine/cli/toml_shim.h"
#include "engine/input/curl_library.h"
#include "engine/input/xml_elements.h"
#include "engine/net/crypto_library.h"
#include "engine/net/hello.h"
#include "engine/web/web_http.h"

#include <assert.h>
#include <bzlib.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <isa-l.h>
#include <jansson.h>
#include <lz4.h>
#include <lzma.h>
#include <msgpack.h>
#include <uthash.h>
#include <uv.h>
#include <xxhash.h>
#include <zstd.h>

#define TEXT_OF(macro)  TEXT_OF_(macro)
#define TEXT_OF_(macro) #macro

/* The program exports none of its own symbols, so one that dlsym finds is from a shared library. */
static const char *library_linkage(const struct cli_library *l)
{
    if (l->symbol == NULL) return "headers";
    return dlsym(RTLD_DEFAULT, l->symbol) != NULL ? "shared" : "static";
}

static void print_library(const struct cli_library *l)
{
    assert(l->version != NULL);
    printf("%-17s  %-8s  %s\n", l->name, l->version, library_linkage(l));
}

/* Libraries that are loaded when a process first needs them, as this does. */
static void print_loaded_library(const char *name, const char *version)
{
    printf("%-17s  %-8s  %s\n", name, version != NULL ? version : "missing", "loaded");
}

static void print_loaded_libraries(void)
{
    struct glint_error unused = {.code = GLINT_OK};
    const bool openssl = crypto_library_load(&unused) == 0;
    const struct curl_library *curl = curl_library_load(&unused);
    const struct web_library *web = web_library_load(&unused);
    print_loaded_library("OpenSSL",
                         openssl ? crypto.OpenSSL_version(OPENSSL_VERSION_STRING) : NULL);
    print_loaded_library("libcurl",
                         curl != NULL ? curl->version_info(CURLVERSION_NOW)->version : NULL);
    print_loaded_library("libmicrohttpd", web != NULL ? web->get_version() : NULL);
    print_loaded_library("expat", xml_library_version());
}

static void print_libraries(const struct cli_library *of_jobs)
{
    char xxhash[32];
    unsigned xxh = XXH_versionNumber();
    snprintf(xxhash, sizeof xxhash, "%u.%u.%u", xxh / 10000, xxh / 100 % 100, xxh % 100);
    const struct cli_library libraries[] = {
        {"libuv", uv_version_string(), "uv_version_string"},
        {"msgpack-c", msgpack_version(), "msgpack_version"},
        {"jansson", jansson_version_str(), "jansson_version_str"},
        {"lz4", LZ4_versionString(), "LZ4_versionString"},
        {"zstd", ZSTD_versionString(), "ZSTD_versionString"},
        {"liblzma", lzma_version_string(), "lzma_version_string"},
        {"bzip2", BZ2_bzlibVersion(), "BZ2_bzlibVersion"},
        {"isa-l",
         TEXT_OF(ISAL_MAJOR_VERSION) "." TEXT_OF(ISAL_MINOR_VERSION) "." TEXT_OF(
             ISAL_PATCH_VERSION),
         "isal_inflate"},
        {"xxHash", xxhash, "XXH_versionNumber"},
        {"libmurmurhash", GLINT_MURMURHASH_VERSION, "lmmh_x64_128"},
        {"toml++", toml_version(), NULL},
        {"uthash", TEXT_OF(UTHASH_VERSION), NULL},
        {"glibc", gnu_get_libc_version(), "gnu_get_libc_version"},
    };
    print_loaded_libraries();
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        print_library(&libraries[i]);
    for (; of_jobs != NULL && of_jobs->name != NULL; of_jobs++) print_library(of_jobs);
}

static void print_version(const struct cli_line *line, struct glint_error *error)
{
    (void)error;
    printf("%s %s\nbuild %s\n", line->program->name, GLINT_VERSION, build_id());
    if (cli_line_flag(line, "libraries")) print_libraries(line->program->libraries);
}

static const struct glint_job_option version_options[] = {
    {"libraries", NULL, NULL,
     "also print the libraries: version, and how each is linked or loaded"},
    {.name = NULL}};

const struct cli_command cmd_version = {.name = "version",
                                        .summary = "print the version and the build",
                                        .syntax = {.command = "glint version",
                                                   .summary = "Prints the version and the build.",
                                                   .own = version_options},
                                        .execute = print_version};
