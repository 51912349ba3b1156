/* The inner loops of permutation nulls; native.py calls them, permuted.py gives them work.
 *
 * Compiled once for each instruction set that is worth it (hatch_build.py), each time under names of its own.
 * Callers have checked every index; sizes are given. Sums run in an order that the sizes alone decide.
 */

#include <stdint.h>

#define ABI 3

#include "levels.h"

#define STRETCH 64
/* Pairs of rows that are taken together: their numbers stay in the innermost cache for all tiles. */
#define LINE 8
/* Numbers that memory gives at a time. The next stretch is asked for while one is multiplied. */
#define CHAINS 16
/* Sums of a single product that run side by side, so that none waits for the one before. */

typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));
typedef double one;

/* out[a][c] += sum over pairs of left[pair][a] * right[index[pair]][c]: a < height, c < COUNT vectors. */
#define TILE(NAME, VECTOR, COUNT)                                                                                 \
    INLINE void NAME(const int height, const double *left, int64_t n_pairs, const double *right,                   \
                     const int64_t *index, int64_t width, double *out)                                             \
    {                                                                                                              \
        const int lanes = sizeof(VECTOR) / sizeof(double);                                                         \
        VECTOR sums[TALL][COUNT];                                                                                  \
        for (int a = 0; a < height; a++)                                                                           \
            for (int c = 0; c < COUNT; c++)                                                                        \
                sums[a][c] = (VECTOR){0};                                                                          \
        for (int64_t pair = 0; pair < n_pairs; pair++) {                                                           \
            const double *cell = right + index[pair] * width;                                                      \
            for (int a = 0; a < height; a += LINE)                                                                 \
                __builtin_prefetch(left + (pair + STRETCH) * height + a);                                          \
            for (int a = 0; a < height; a++)                                                                       \
                for (int c = 0; c < COUNT; c++)                                                                    \
                    sums[a][c] += left[pair * height + a] * *(const VECTOR *)(cell + c * lanes);                   \
        }                                                                                                          \
        for (int a = 0; a < height; a++)                                                                           \
            for (int c = 0; c < COUNT; c++)                                                                        \
                *(VECTOR *)(out + a * width + c * lanes) += sums[a][c];                                            \
    }

#if LANES >= 8
TILE(tile_16, eight, 2)
TILE(tile_8, eight, 1)
TILE(tile_4, four, 1)
#elif LANES >= 4
TILE(tile_8, four, 2)
TILE(tile_4, four, 1)
#else
TILE(tile_4, two, 2)
#endif
TILE(tile_2, two, 1)
TILE(tile_1, one, 1)

/* All columns of the given rows of a grid: as many as possible at a time. */
INLINE void rows_of_grid(const int height, const double *left, int64_t n_pairs, const double *right,
                         const int64_t *index, int64_t width, double *out)
{
    int64_t c = 0;
#if LANES >= 8
    for (; c + 16 <= width; c += 16)
        tile_16(height, left, n_pairs, right + c, index, width, out + c);
#endif
#if LANES >= 4
    for (; c + 8 <= width; c += 8)
        tile_8(height, left, n_pairs, right + c, index, width, out + c);
#endif
    for (; c + 4 <= width; c += 4)
        tile_4(height, left, n_pairs, right + c, index, width, out + c);
    for (; c + 2 <= width; c += 2)
        tile_2(height, left, n_pairs, right + c, index, width, out + c);
    for (; c < width; c++)
        tile_1(height, left, n_pairs, right + c, index, width, out + c);
}

/* The tallest tile that fits the rows from `a` on. */
INLINE int64_t height_at(int64_t a, int64_t n_first)
{
    static const int64_t heights[] = {12, 8, 4, 2, 1};
    int at = 0;
    while (heights[at] > TALL || heights[at] > n_first - a)
        at++;
    return heights[at];
}

static void tiles(int64_t height, const double *left, int64_t n_pairs, const double *right, const int64_t *index,
                  int64_t width, double *out)
{
    if (height == TALL)
        rows_of_grid(TALL, left, n_pairs, right, index, width, out);
#if TALL > 8
    else if (height == 8)
        rows_of_grid(8, left, n_pairs, right, index, width, out);
#endif
#if TALL > 4
    else if (height == 4)
        rows_of_grid(4, left, n_pairs, right, index, width, out);
#endif
    else if (height == 2)
        rows_of_grid(2, left, n_pairs, right, index, width, out);
    else
        rows_of_grid(1, left, n_pairs, right, index, width, out);
}

/* Inner product of one with one: sums side by side, so that none waits for the one before. */
static double inner(const double *left, int64_t n_pairs, const double *right, const int64_t *index)
{
    double sums[CHAINS] = {0}, total = 0;
    int64_t pair = 0;
    for (; pair + CHAINS <= n_pairs; pair += CHAINS)
        for (int chain = 0; chain < CHAINS; chain++)
            sums[chain] += left[pair + chain] * right[index[pair + chain]];
    for (int chain = 0; pair < n_pairs; pair++, chain++)
        sums[chain] += left[pair] * right[index[pair]];
    for (int chain = 0; chain < CHAINS; chain++)
        total += sums[chain];
    return total;
}

/* Lay condensed matrices of n_entries out as `grids` reads them: those of a tile side by side, tile after tile. */
void OWN(shesha_lay_out)(int64_t n_first, int64_t n_entries, const double *const *first, double *out)
{
    for (int64_t a = 0, height; a < n_first; a += height) {
        double *tile = out + a * n_entries;
        height = height_at(a, n_first);
        for (int64_t entry = 0; entry < n_entries; entry++)
            for (int64_t b = 0; b < height; b++)
                tile[entry * height + b] = first[a + b][entry];
    }
}

/* out[d][a][b] += inner product of condensed matrix a of `first` with matrix b of `second`, its rows in order d.
 *
 * first: n_first condensed matrices of n rows as `lay_out` leaves them. second: (n, n, width), symmetric in the first
 * two. orders: (n_orders, n), each a permutation of 0..n-1; places: their inverses. out: (n_orders, n_first, width).
 * A row of the second stays in the cache for all orders, and is read in any order there; what is read from memory,
 * the rows of the first that it meets, comes in one piece each.
 */
void OWN(shesha_grids)(int64_t n, int64_t n_first, int64_t width, int64_t n_orders, const double *first,
                       const double *second, const int64_t *orders, const int64_t *places, double *out)
{
    const int64_t n_entries = n * (n - 1) / 2;
    for (int64_t row = 0; row < n; row++)
        for (int64_t d = 0; d < n_orders; d++) {
            const int64_t i = places[d * n + row], start = i * n - i * (i + 1) / 2;
            const double *right = second + row * n * width;
            double *own = out + d * n_first * width;
            if (n_first == 1 && width == 1) {
                *own += inner(first + start, n - i - 1, right, orders + d * n + i + 1);
                continue;
            }
            for (int64_t at = 0; at < n - i - 1; at += STRETCH) {
                const int64_t rest = n - i - 1 - at, n_pairs = rest < STRETCH ? rest : STRETCH;
                const int64_t *index = orders + d * n + i + 1 + at;
                for (int64_t a = 0, height; a < n_first; a += height) {
                    height = height_at(a, n_first);
                    tiles(height, first + a * n_entries + (start + at) * height, n_pairs, right, index, width,
                          own + a * width);
                }
            }
        }
}

#ifdef PLAIN

int64_t shesha_abi(void) { return ABI; }

/* The best instruction set of this processor, among those that this is compiled for. */
int64_t shesha_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") ? 2 : 1;
#endif
    return 0;
}

#endif
