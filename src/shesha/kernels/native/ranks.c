/* Sorting of values by fixed-point keys, and sums of products of ranks; sorting.py calls them.
 *
 * A key is the leading fraction bits of a value moved and scaled into [1, 2); key and index are one integer, as in
 * sorting.py, and no operation may be fused with another, so that the keys are those of NumPy bit for bit. Entries are
 * dealt out to buckets by the leading bits of their keys, then sorted bucket by bucket in the cache.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "levels.h"

#define FEW 24
/* Entries that are sorted by insertion. */
#define SLOTS_BITS 13
/* A bucket is dealt out to one or two slots per entry, up to this many, whose counts fit the innermost cache. */
#define COUNTED 65535
/* Entries that a count of 16 bits can count. */
#define WIDE_BITS 8
#define TOGETHER 256
/* Products of ranks below 2^27 whose sum fits 64 bits. */
#define AHEAD 32
/* Entries after the present one whose memory is asked for. */

typedef uint64_t key;
__extension__ typedef __int128 exact;

/* The first `bits` fraction bits. */
INLINE key fixed_point(double value, double low, double scale, int64_t bits)
{
    const double x = (value - low) * scale + 1.0;
    key found;
    memcpy(&found, &x, sizeof found);
    return (found << 12) >> (64 - bits);
}

/* How many of the values have each leading `top` bits. */
void OWN(shesha_count)(int64_t n, const double *values, double low, double scale, int64_t top, int64_t *counts)
{
    for (int64_t i = 0; i < n; i++)
        counts[fixed_point(values[i], low, scale, top)]++;
}

/* Copy the values at the given places; range: the smallest and the largest. */
void OWN(shesha_take)(int64_t n, const double *values, const int64_t *order, double *out, double *range)
{
    double low = values[order[0]], high = low;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(values + order[i + AHEAD < n ? i + AHEAD : i]);
        const double value = values[order[i]];
        low = value < low ? value : low;
        high = value > high ? value : high;
        out[i] = value;
    }
    range[0] = low;
    range[1] = high;
}

/* Pack key and index, which is first + i, and put each entry into the next place of its bucket. */
void OWN(shesha_deal)(int64_t n, const double *values, int64_t first, double low, double scale, int64_t key_bits,
                      int64_t index_bits, int64_t top, int64_t *places, key *out)
{
    for (int64_t i = 0; i < n; i++) {
        const key entry = fixed_point(values[i], low, scale, key_bits);
        out[places[entry >> (key_bits - top)]++] = entry << index_bits | (key)(first + i);
    }
}

/* Sorted copy; `from` may be `to`. */
INLINE void insert(const key *from, int64_t n, key *to)
{
    for (int64_t i = 0; i < n; i++) {
        const key entry = from[i];
        int64_t at = i;
        for (; at > 0 && to[at - 1] > entry; at--)
            to[at] = to[at - 1];
        to[at] = entry;
    }
}

static void sort_bucket(key *entries, int64_t n, int64_t high, int64_t low, key *scratch);

/* Deal out by the next few bits, then sort each part: for buckets too large to be counted in 16 bits. */
static void sort_large(key *entries, int64_t n, int64_t high, int64_t low, key *scratch)
{
    const int64_t bits = high - low < WIDE_BITS ? high - low : WIDE_BITS, shift = high - bits;
    const key mask = ((key)1 << bits) - 1;
    int64_t starts[(1 << WIDE_BITS) + 1] = {0}, places[1 << WIDE_BITS];
    for (int64_t i = 0; i < n; i++)
        starts[(entries[i] >> shift & mask) + 1]++;
    for (int64_t part = 0; part < (1 << bits); part++) {
        starts[part + 1] += starts[part];
        places[part] = starts[part];
    }
    /* Crowded values differ in their last bits only: nothing moves then. */
    if (starts[(entries[0] >> shift & mask) + 1] - starts[entries[0] >> shift & mask] < n) {
        for (int64_t i = 0; i < n; i++)
            scratch[places[entries[i] >> shift & mask]++] = entries[i];
        memcpy(entries, scratch, n * sizeof *entries);
    }
    for (int64_t part = 0; part < (1 << bits); part++)
        sort_bucket(entries + starts[part], starts[part + 1] - starts[part], shift, low, scratch);
}

/* Sort by bits low to high; those above are equal. */
static void sort_bucket(key *entries, int64_t n, int64_t high, int64_t low, key *scratch)
{
    if (n < 2 || high <= low)
        return;
    if (n <= FEW) {
        insert(entries, n, entries);
        return;
    }
    if (n > COUNTED) {
        sort_large(entries, n, high, low, scratch);
        return;
    }
    uint16_t places[1 << SLOTS_BITS];
    int64_t bits = 1;
    while (bits < SLOTS_BITS && bits < high - low && ((int64_t)1 << bits) < n)
        bits++;
    const int64_t shift = high - bits, slots = (int64_t)1 << bits;
    const key mask = slots - 1;
    memset(places, 0, slots * sizeof *places);
    for (int64_t i = 0; i < n; i++)
        places[entries[i] >> shift & mask]++;
    uint16_t before = 0, most = 0;
    for (int64_t slot = 0; slot < slots; slot++) {
        const uint16_t count = places[slot];
        most = count > most ? count : most;
        places[slot] = before;
        before += count;
    }
    for (int64_t i = 0; i < n; i++)
        scratch[places[entries[i] >> shift & mask]++] = entries[i];
    if (most <= FEW) {
        insert(scratch, n, entries);
        return;
    }
    memcpy(entries, scratch, n * sizeof *entries);
    for (int64_t slot = 0, start = 0; slot < slots; slot++) {
        const int64_t stop = places[slot];
        sort_bucket(entries + start, stop - start, shift, low, scratch);
        start = stop;
    }
}

/* Runs of sorted entries whose keys are within a gap of the next. */
typedef struct {
    key last;
    int64_t run, first_run;
    double squares;
} links;

static void end_run(links *found)
{
    if (found->first_run == 0)
        found->first_run = found->run;
    else if (found->run > 1)
        found->squares += (double)found->run * (double)found->run;
    found->run = 0;
}

/* Go on with further sorted entries. */
static void follow(links *found, const key *entries, int64_t n, int64_t index_bits, key gap)
{
    int64_t linked = (entries[0] >> index_bits) - found->last <= gap;
    for (int64_t i = 1; i < n; i++)
        linked += (entries[i] >> index_bits) - (entries[i - 1] >> index_bits) <= gap;
    if (linked == 0 && found->run > 0) {
        end_run(found);
        found->run = 1;
    } else
        for (int64_t i = 0; i < n; i++) {
            const key own = entries[i] >> index_bits;
            if (found->run > 0 && own - found->last > gap)
                end_run(found);
            found->run++;
            found->last = own;
        }
    found->last = entries[n - 1] >> index_bits;
}

/* Sum of products of ranks, as far from the mean as they are, doubled: in integers, hence exact in any order.
 *
 * Of entry i of the second vector, at position `first` + i of its order, the rank is that position or second_ranks[i];
 * order[i] & mask is the place that it has in the first vector's order, which is its rank there or finds it.
 */
INLINE exact products(int64_t n, const key *order, key mask, int64_t first, const double *first_ranks,
                      const double *second_ranks, int64_t total)
{
    exact sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = order[i] & mask;
        const int64_t x = first_ranks == NULL ? 2 * place : (int64_t)(2 * first_ranks[place]);
        const int64_t y = second_ranks == NULL ? 2 * (first + i) : (int64_t)(2 * second_ranks[i]);
        sum += (exact)(x - total + 1) * (y - total + 1);
    }
    return sum;
}

INLINE void put(exact sum, int64_t *out)
{
    out[0] = (int64_t)(sum >> 48);
    out[1] = (int64_t)(sum & (((exact)1 << 48) - 1));
}

/* Positions first to first + n of a vector of `total` entries; out: the sum divided by 2^48, and the rest. */
void OWN(shesha_products)(int64_t n, const key *order, int64_t first, const double *first_ranks,
                          const double *second_ranks, int64_t total, int64_t *out)
{
    const key all = ~(key)0;
    if (first_ranks == NULL && second_ranks == NULL)
        put(products(n, order, all, first, NULL, NULL, total), out);
    else
        put(products(n, order, all, first, first_ranks, second_ranks, total), out);
}

/* What becomes of sorted entries. */
enum { KEEP_KEYS, KEEP_INDICES, MULTIPLY };

/* Sort buckets that lie one after another, bucket b from starts[b] to starts[b + 1], whose bits from top_bit on are equal.
 *
 * Indices come in order and equal keys leave them so. With MULTIPLY, indices are places in the order of another vector
 * of `total` entries with the given ranks (NULL if none tie), and products of ranks are summed as above. out: the sum;
 * lengths of the first and the last run of linked entries; first and last key. squares: the sum of squared lengths of
 * the other runs. Returns 0, or 1 without memory.
 */
int64_t OWN(shesha_sort_buckets)(int64_t n_buckets, const int64_t *starts, int64_t top_bit, int64_t index_bits,
                                 int64_t gap, key *entries, int64_t then, const double *ranks, int64_t total,
                                 int64_t *out, double *squares)
{
    const key mask = ((key)1 << index_bits) - 1;
    int64_t largest = 0;
    for (int64_t b = 0; b < n_buckets; b++)
        largest = starts[b + 1] - starts[b] > largest ? starts[b + 1] - starts[b] : largest;
    key *scratch = malloc((largest + 1) * sizeof *scratch);
    if (scratch == NULL)
        return 1;
    links found = {0};
    exact sum = 0;
    for (int64_t b = 0; b < n_buckets; b++) {
        const int64_t n = starts[b + 1] - starts[b];
        key *own = entries + starts[b];
        if (n == 0)
            continue;
        sort_bucket(own, n, top_bit, index_bits, scratch);
        if (found.run == 0)
            out[4] = (int64_t)(own[0] >> index_bits);
        follow(&found, own, n, index_bits, (key)gap);
        if (then == KEEP_INDICES)
            for (int64_t i = 0; i < n; i++)
                own[i] &= mask;
        else if (then == MULTIPLY && ranks == NULL)
            sum += products(n, own, mask, starts[b], NULL, NULL, total);
        else if (then == MULTIPLY)
            sum += products(n, own, mask, starts[b], ranks, NULL, total);
    }
    free(scratch);
    put(sum, out);
    out[2] = found.first_run == 0 ? found.run : found.first_run;
    out[3] = found.run;
    out[5] = (int64_t)found.last;
    *squares = found.squares;
    return 0;
}

/* out[order[i]] = (rank of position first + i, minus centre) times scale. */
void OWN(shesha_put_ranks)(int64_t n, const int64_t *order, int64_t first, const double *ranks, double centre,
                           double scale, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const double rank = ranks == NULL ? (double)(first + i) : ranks[i];
        out[order[i]] = (rank - centre) * scale;
    }
}

/* Of some rows: sum of products of the ranks that their pairs have among themselves in two orders of all pairs.
 *
 * rows: the two rows of each pair in the first order, 16 bits each; order: places in the first order of the pairs in
 * the second one; inside: which rows count; place: work memory. out: the sum as above, and the number of pairs.
 */
void OWN(shesha_products_within)(int64_t n, const uint32_t *rows, const int64_t *order, const uint8_t *inside,
                                 uint32_t *place, int64_t *out)
{
    /* No branches: which pairs count is as good as random. */
    uint32_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t both = inside[rows[i] & 0xffff] & inside[rows[i] >> 16];
        place[i] = count | (both - 1);
        count += both;
    }
    const uint32_t nowhere = ~(uint32_t)0;
    exact sum = 0;
    for (int64_t start = 0, y = 1 - (int64_t)count; start < n; start += TOGETHER) {
        int64_t some = 0;
        for (int64_t i = start; i < start + TOGETHER && i < n; i++) {
            const uint32_t own = place[order[i]];
            const int64_t counts = own != nowhere;
            some += (2 * (int64_t)own - count + 1) * y & -counts;
            y += 2 * counts;
        }
        sum += some;
    }
    put(sum, out);
    out[2] = count;
}
