/* Passes over whole matrices of pairs, several at once; halves.py calls them.
 *
 * No operation may be fused with another: values are those of NumPy bit for bit.
 */

#include <stdint.h>
#include <stddef.h>

#include "levels.h"

/* Larger is closer: all pairs i < j of rows in two halves of the features, in condensed order.
 *
 * whole and gram: inner products of rows over all features and over the first half. means_1 and means_2, which may be
 * absent: each row's mean over the half's features, of which there are size_1 and size_2. With `directional`, scale_1
 * and scale_2 are one over the rows' lengths in each half, else their squared lengths.
 */
void OWN(shesha_halves)(int64_t n, const double *whole, const double *gram, const double *means_1,
                        const double *means_2, double size_1, double size_2, int64_t directional,
                        const double *scale_1, const double *scale_2, double *restrict out_1, double *restrict out_2)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t rest = n - i - 1, start = i + 1;
        const double *all = whole + i * n + start, *own = gram + i * n + start;
        const double *to_1 = scale_1 + start, *to_2 = scale_2 + start;
        const double a = scale_1[i], b = scale_2[i];
        for (int64_t j = 0; j < rest; j++)
            out_2[j] = all[j] - own[j];
        if (means_1 != NULL)
            for (int64_t j = 0; j < rest; j++) {
                out_2[j] -= size_1 * means_1[i] * means_1[start + j];
                out_2[j] -= size_2 * means_2[i] * means_2[start + j];
            }
        if (directional)
            for (int64_t j = 0; j < rest; j++) {
                out_1[j] = own[j] * a * to_1[j];
                out_2[j] = out_2[j] * b * to_2[j];
            }
        else
            for (int64_t j = 0; j < rest; j++) {
                out_1[j] = 2.0 * own[j] - a - to_1[j];
                out_2[j] = 2.0 * out_2[j] - b - to_2[j];
            }
        out_1 += rest;
        out_2 += rest;
    }
}

/* Distances of n_rows rows to all later ones, of which there are n_columns - 1 for the first, in condensed order.
 *
 * block: (n_rows, n_columns) inner products; column j is row j counted from the first. Without lengths: one minus the
 * inner product, in 0 to 2. With squared lengths of the rows from the first on: the squared Euclidean distance, or with
 * `root` the distance. Returns how many of these are at most `close` of the squared lengths: they have lost digits.
 */
int64_t OWN(shesha_put_distances)(int64_t n_rows, int64_t n_columns, const double *block, const double *lengths,
                                  double close, int64_t root, double *restrict out)
{
    int64_t lost = 0;
    for (int64_t i = 0; i < n_rows; i++) {
        const int64_t rest = n_columns - i - 1;
        const double *own = block + i * n_columns + i + 1;
        if (lengths == NULL) {
            for (int64_t j = 0; j < rest; j++) {
                const double distance = 1.0 - own[j];
                const double above = distance < 0.0 ? 0.0 : distance;
                out[j] = above > 2.0 ? 2.0 : above;
            }
        } else {
            const double *to = lengths + i + 1;
            for (int64_t j = 0; j < rest; j++) {
                const double scale = lengths[i] + to[j], squared = -2.0 * own[j] + scale;
                lost += squared <= scale * close;
                out[j] = squared;
            }
            if (root && lost == 0)
                for (int64_t j = 0; j < rest; j++)
                    out[j] = __builtin_sqrt(out[j]);
        }
        out += rest;
    }
    return lost;
}
