// elementary.h -- 2^x, log2, sine, cosine and tanh in plain double arithmetic, the same on every
// machine to the last bit
//
// No library of the host is asked, and no step can be joined with another (-ffp-contract=off). The
// errors are a few units of double's last place, so a result rounded to float is the nearest one
// but for a few in 2^29.
#pragma once
#include "rounding.h"

namespace elementary {

// The sum of c[k] x^k.
template <int terms> HALO_INLINE double polynomial(const double (&c)[terms], double x) {
    double sum = c[terms - 1];
    for (int k = terms - 2; k >= 0; --k) sum = sum * x + c[k];
    return sum;
}

// Exact for whole numbers. |x| is cut to 1,000: beyond float's range and within double's.
HALO_INLINE double exp2(double x) {
    static constexpr double c[] = {
        // ln(2)^k / k!
        0x1.0000000000000p+0,  0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0c0p-5,
        0x1.3b2ab6fba4e77p-7,  0x1.5d87fe78a6731p-10, 0x1.430912f86c787p-13, 0x1.ffcbfc588b0c7p-17,
        0x1.62c0223a5c824p-20, 0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28, 0x1.e8cac7351bb25p-32,
        0x1.c3bd650fc2986p-36};
    const double upper = x > 1000.0 ? 1000.0 : x, cut = upper < -1000.0 ? -1000.0 : upper;
    const double shifted = cut + 0x1.8p52, rest = cut - (shifted - 0x1.8p52);
    return polynomial(c, rest) * bits_of<double>((bits_of<std::uint64_t>(shifted) + 1023) << 52);
}

// Exact for powers of two. x is no subnormal double.
HALO_INLINE double log2(double x) {
    static constexpr double c[] = {// 2 / ln(2) / (2 k + 1)
                                   0x1.71547652b82fep+1, 0x1.ec709dc3a03fdp-1, 0x1.2776c50ef9bfep-1,
                                   0x1.a61762a7aded9p-2, 0x1.484b13d7c02a9p-2, 0x1.0c9a84994022dp-2,
                                   0x1.c68f568d31760p-3, 0x1.89f3b1694cffep-3, 0x1.5b9ac9b743f0dp-3,
                                   0x1.3703c1f4d0ffep-3, 0x1.1964ec6fc9491p-3};
    // x = m 2^e with m between the square roots of 1/2 and 2; e + 1023 becomes a double by way of
    // the digits of 2^52.
    const std::uint64_t bits = bits_of<std::uint64_t>(x), least = 0x3FE6A09E667F3BCDu;
    const std::uint64_t biased = (bits - least + (std::uint64_t(1023) << 52)) >> 52;
    const double e = bits_of<double>(0x4330000000000000u | biased) - (0x1p52 + 1023);
    const double m = bits_of<double>(bits - ((biased - 1023) << 52));
    const double s = (m - 1.0) / (m + 1.0);
    const double result = e + s * polynomial(c, s * s);
    return x > 0.0 ? (x < INFINITY ? result : x) : x == 0.0 ? -INFINITY : NAN;
}

// Sine (quarters = 0) and cosine (quarters = 1) of a number of turns.
HALO_INLINE double sine_of_turns(double turns, std::uint64_t quarters) {
    static constexpr double sine[] = {
        0x1.0000000000000p+0,   -0x1.5555555555555p-3,  0x1.1111111111111p-7,
        -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19,  -0x1.ae64567f544e4p-26,
        0x1.6124613a86d09p-33,  -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49};
    static constexpr double cosine[] = {
        0x1.0000000000000p+0,   -0x1.0000000000000p-1,  0x1.5555555555555p-5,
        -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16,  -0x1.27e4fb7789f5cp-22,
        0x1.1eed8eff8d898p-29,  -0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45};
    // A float of 2^24 turns or more is a whole number of them.
    const double cut = std::fabs(turns) < 0x1p24 ? turns : turns - turns;
    const double shifted = 4.0 * cut + 0x1.8p52,
                 angle = (cut - 0.25 * (shifted - 0x1.8p52)) * 0x1.921fb54442d18p+2;
    const double square = angle * angle;
    const double s = angle * polynomial(sine, square), c = polynomial(cosine, square);
    // The lowest two bits of the sum say which quarter it is: s, c, -s, -c.
    const std::uint64_t quarter = bits_of<std::uint64_t>(shifted) + quarters;
    return bits_of<double>(bits_of<std::uint64_t>(quarter & 1 ? c : s) ^ (quarter & 2) << 62);
}

HALO_INLINE double tanh(double x) {
    const double e = exp2(x * 0x1.71547652b82fep+1);    // e^(2 x)
    const double large = (e - 1.0) / (e + 1.0), small = x * (1.0 - x * x * (1.0 / 3.0));
    const double cut = std::fabs(x) < 32.0 ? large : std::copysign(1.0, x);
    return x != x ? x : std::fabs(x) < 0x1p-9 ? small : cut;
}

}    // namespace elementary
