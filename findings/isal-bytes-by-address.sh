#!/usr/bin/env bash
# Version: ISA-L (libisal2, libisal-dev) 2.30.0-5 of Debian 12. Source: run on 2026-11-30; https://github.com/intel/isa-l (igzip), isal_deflate_icf_body_hash_hist_04 as
# disassembled.
# Guess: isal_deflate gives the same bytes for the same input, level and order of calls, as zlib and zstd do.
# Behaviour: not at levels 1 and 2. After the first byte of a stream the fast loop hashes the third position from a register that still has the address of struct isal_zstream, not
# from the input, so about 1 in 1,000 addresses of the struct gives other matches and other bytes (all decompress to the same). With address space layout randomization the same
# program differs from run to run. If 16 bytes are flushed first (SYNC_FLUSH), another loop handles them, and the bytes are the same at all addresses.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
apt-get -qq download libisal2=2.30.0-5 libisal-dev=2.30.0-5 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
cat >streams.c <<'END'
#include <isa-l/igzip_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STREAMS = 20000, WINDOW = 65536 };

static size_t compress_at(struct isal_zstream *z, int level, uint8_t *in, uint32_t size, uint32_t first, uint8_t *table, uint8_t *out)
{
    memset(z, 0, sizeof *z);
    isal_deflate_init(z);
    z->level = (uint32_t)level;
    z->level_buf = table;
    z->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z->next_in = in, z->avail_in = first, z->flush = SYNC_FLUSH;
    z->next_out = out, z->avail_out = 1 << 16;
    if (first > 0) isal_deflate(z);
    z->avail_in = size - first, z->flush = NO_FLUSH, z->end_of_stream = 1;
    isal_deflate(z);
    return (size_t)(z->next_out - out);
}

int main(int argc, char **argv)
{
    const int level = argv[1][0] - '0';
    const uint32_t first = argc == 3 ? 16 : 0;
    uint8_t in[4096] = {0}, *table = malloc(ISAL_DEF_LVL1_DEFAULT), *out = malloc(1 << 16), *back = malloc(1 << 16);
    uint8_t *whole = malloc(1 << 16);
    uint32_t size = 0, others = 0;
    size_t whole_size = 0;
    for (int i = 0; i < 30; i++) size += (uint32_t)snprintf((char *)in + size, sizeof in - size, "tt%07d\t%d.%d\t%d\n", i * 97 % 30, i % 9, i * 7 % 10, i * i * 31 % 1000);
    uint8_t *base = mmap(NULL, (STREAMS + 2ul) * WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int i = 0; i < STREAMS; i++) {
        struct isal_zstream *z = (void *)(base + (size_t)i * WINDOW);
        const size_t n = compress_at(z, level, in, size, first, table, out);
        if (i == 0) memcpy(whole, out, whole_size = n);
        others += n != whole_size || memcmp(out, whole, n) != 0;
        struct inflate_state s;
        isal_inflate_init(&s);
        s.next_in = out, s.avail_in = (uint32_t)n, s.next_out = back, s.avail_out = 1 << 16;
        if (isal_inflate(&s) != 0 || s.total_out != size || memcmp(back, in, size) != 0) return 1;
        madvise(z, sizeof *z + WINDOW, MADV_DONTNEED);
    }
    printf("level %d, %u bytes flushed first: %u of %d streams have other bytes\n", level, first, others, STREAMS);
    return (others > 0) != (first == 0);
}
END
gcc -O2 -Iroot/usr/include streams.c -o streams root/usr/lib/x86_64-linux-gnu/libisal.so.2
export LD_LIBRARY_PATH=$dir/root/usr/lib/x86_64-linux-gnu
./streams 1
./streams 2
./streams 1 flushed
