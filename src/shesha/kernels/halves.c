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
