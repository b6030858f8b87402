// ops_matrix.cpp -- mma.sync and wmma.mma: products of small matrices of floating-point numbers
//
// Floating point, as on compute capability 9.0 (P. Xie et al., "MMA-Sim: Bit-Accurate Reference
// Model of Tensor Cores and Matrix Cores", arXiv 2511.10909): products are exact; they and the
// accumulator are cut, towards zero, 25 bits behind the point of the largest one, whose exponent is
// the sum of its factors' exponents; their sum is exact and is cut to float, or rounded to half.
// All k terms go into one sum. Bytes are multiplied as halves, see multiply_bytes.
#include <algorithm>

#include "floats.h"
#include "matrix_registers.h"

namespace {

using std::uint64_t;

constexpr int BEHIND_POINT = 25;
constexpr int NO_EXPONENT = -4096;    // of zero: less than every other, in sums of two as well

// A factor's format, in as many bits of a register: significand * 2^(exponent - digits).
struct Factor {
    int bits, exponent_bits, digits;
    bool has_infinity;    // e4m3 has none: only all ones are special, a NaN
    const Narrow* narrow;    // of formats of 16 and 8 bits
};
constexpr Factor F16_FACTOR = {16, 5, 10, true, &HALF_BITS},
                 BF16_FACTOR = {16, 8, 7, true, &BRAIN_BITS};
constexpr Factor TF32_FACTOR = {32, 8, 10, true, nullptr};
constexpr Factor E4M3_FACTOR = {8, 4, 3, false, &E4M3_BITS},
                 E5M2_FACTOR = {8, 5, 2, true, &E5M2_BITS};

double value_of(uint32_t given, const Factor& format) {
    return format.narrow ? widened(given, *format.narrow) : bits_of<float>(given & 0xFFFFE000u);
}
// The nearest float that is not further from zero; infinity from 2^128 on.
HALO_INLINE float cut_to_float(double value) {
    const float nearest = static_cast<float>(value);
    const bool beyond =
        std::fabs(static_cast<double>(nearest)) > std::fabs(value) && std::fabs(value) < 0x1p128;
    return bits_of<float>(bits_of<uint32_t>(nearest) - (beyond ? 1 : 0));
}
// A sum of halves that rounds to nothing has no sign.
HALO_INLINE uint16_t half_of_sum(double value) {
    const uint16_t half = half_of_float(odd_float(value));
    return half == 0x8000 ? uint16_t(0) : half;
}
HALO_INLINE double power_of_two(int exponent) {
    return bits_of<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// `count` factors, taken apart.
struct Parts {
    alignas(64) int32_t significands[MOST], exponents[MOST];
    alignas(64) float values[MOST];
    bool special;    // whether one of them is infinite or a NaN
};
HALO_NOINLINE void split(const uint32_t* given, int count, const Factor& format, Parts& parts) {
    const int digits = format.digits, sign_bit = format.bits - 1,
              lost = format.bits - 1 - format.exponent_bits - digits;
    const uint32_t top = (1u << format.exponent_bits) - 1, fractions = (1u << digits) - 1;
    const uint32_t least_special =
        format.has_infinity ? top << digits : (top << digits) | fractions;
    const int32_t bias = static_cast<int32_t>(top >> 1);
    uint32_t special = 0;
    for (int at = 0; at < count; ++at) {
        const uint32_t size = (given[at] >> lost) & ((top << digits) | fractions),
                       field = size >> digits;
        const uint32_t value = (size & fractions) | (field != 0 ? fractions + 1 : 0);
        const int32_t exponent = static_cast<int32_t>(field != 0 ? field : 1) - bias;
        const int32_t significand =
            static_cast<int32_t>(given[at] >> sign_bit & 1 ? 0u - value : value);
        parts.significands[at] = significand;
        parts.values[at] = static_cast<float>(significand * power_of_two(exponent - digits));
        parts.exponents[at] = value == 0 ? NO_EXPONENT : exponent;
        special |= size >= least_special ? 1u : 0u;
    }
    parts.special = special != 0;
}

typedef float EightFloats __attribute__((vector_size(32)));

// Rows of A (m x depth) by 8 columns of B (depth x 8), plus the addend (m rows of 8): exact sums of
// the terms after the cut. No factor may be infinite or a NaN. digits: how many a product has
// behind the point.
struct Products {
    const Parts &a, &b;
    int first_of_a, first_of_b, depth, digits;
};
HALO_NOINLINE void fused_rows(const Products& given, int m, const float* addend, double* sums) {
    const int depth = given.depth, up = BEHIND_POINT - given.digits;
    const int32_t *b = given.b.significands + given.first_of_b,
                  *b_exponents = given.b.exponents + given.first_of_b;
    const float* b_values = given.b.values + given.first_of_b;
    for (int row = 0; row < m; ++row, addend += 8, sums += 8) {
        const int first_of_row = given.first_of_a + row * depth;
        const int32_t *a = given.a.significands + first_of_row,
                      *a_exponents = given.a.exponents + first_of_row;
        const float* a_values = given.a.values + first_of_row;
        Eight bits;
        std::memcpy(&bits, addend, sizeof bits);
        const Eight field = bits >> 23 & 0xFF, normal = field != 0,
                    size = (bits & 0x7FFFFF) | (normal & 0x800000), zero = size == 0;
        const Eight exponent = field - 127 + (1 & ~normal),
                    of_c = (exponent & ~zero) | (2 * NO_EXPONENT & zero);
        Eight largest = of_c;
        for (int k = 0; k < depth; ++k) {
            Eight of_product;
            std::memcpy(&of_product, b_exponents + 8 * k, sizeof of_product);
            of_product += a_exponents[k];
            largest = of_product > largest ? of_product : largest;
        }
        const Eight below = largest - of_c, down = below > 31 ? (Eight){} + 31 : below,
                    sign = bits >> 31;
        const Eight part =
            reinterpret_cast<Eight>(reinterpret_cast<EightUnsigned>(size) << (BEHIND_POINT - 23) >>
                                    reinterpret_cast<EightUnsigned>(down));
        const Eight signed_part = (part ^ sign) - sign;
        double total[8];
        for (int n = 0; n < 8; ++n)
            total[n] = signed_part[n];    // whole numbers: sums of them are exact
        // Near 1, float products are exact, and so is their scaling; smaller ones than float holds
        // are cut to nothing anyway.
        const Eight extreme = (largest > 60) | ((largest < -60) & (largest != 2 * NO_EXPONENT));
        bool plain = true;
        for (int n = 0; n < 8; ++n) plain &= extreme[n] == 0;
        const EightFloats scale = reinterpret_cast<EightFloats>(
            (BEHIND_POINT + 127 - (largest < -60 ? (Eight){} : largest)) << 23);
        for (int first = 0; first < depth; first += 8) {    // eight terms of 27 bits fit into 32
            const int end = std::min(depth, first + 8);
            Eight some = {};
            if (plain) {
                for (int k = first; k < end; ++k) {
                    EightFloats values;
                    std::memcpy(&values, b_values + 8 * k, sizeof values);
                    some += __builtin_convertvector(values * a_values[k] * scale, Eight);
                }
            } else {
                for (int k = first; k < end; ++k) {
                    Eight product, distance;
                    std::memcpy(&product, b + 8 * k, sizeof product);
                    std::memcpy(&distance, b_exponents + 8 * k, sizeof distance);
                    product *= a[k], distance = largest - distance - a_exponents[k];
                    const Eight minus = product >> 31,
                                shift = distance > 31 ? (Eight){} + 31 : distance;
                    const EightUnsigned magnitude =
                        reinterpret_cast<EightUnsigned>((product ^ minus) - minus) << up;
                    some += (reinterpret_cast<Eight>(magnitude >>
                                                     reinterpret_cast<EightUnsigned>(shift)) ^
                             minus) -
                            minus;
                }
            }
            for (int n = 0; n < 8; ++n) total[n] += some[n];
        }
        for (int n = 0; n < 8; ++n)
            sums[n] = total[n] == 0 ? 0.0 : total[n] * power_of_two(largest[n] - BEHIND_POINT);
    }
}

bool is_special(float value) { return (bits_of<uint32_t>(value) & 0x7F800000u) == 0x7F800000u; }

// Matrices of factors: A by rows, B in blocks of 8 columns, each by rows.
struct Factors {
    const uint32_t *a, *b;
    const Factor &format_of_a, &format_of_b;
    int m, n, k;
};
HALO_NOINLINE void add_products(const Factors& given, const float* c, double* sums) {
    const int m = given.m, n = given.n, k = given.k;
    Parts a, b;
    split(given.a, m * k, given.format_of_a, a), split(given.b, n * k, given.format_of_b, b);
    uint32_t special = a.special || b.special ? 1u : 0u;
    for (int at = 0; at < m * n; ++at) special |= is_special(c[at]) ? 1u : 0u;
    const int digits = given.format_of_a.digits + given.format_of_b.digits;
    for (int block = 0; block < n / 8; ++block)
        fused_rows({a, b, 0, block * k * 8, k, digits}, m, c + block * m * 8, sums + block * m * 8);
    for (int at = 0; special && at < m * n;
         ++at) {    // an infinity or a NaN shows in an ordinary sum
        const int block = at / (8 * m), row = at / 8 % m;
        double sum = c[at];
        for (int depth = 0; depth < k; ++depth)
            sum += value_of(given.a[row * k + depth], given.format_of_a) *
                   value_of(given.b[(block * k + depth) * 8 + at % 8], given.format_of_b);
        if (!std::isfinite(sum)) sums[at] = sum;
    }
}
// Compute capability 9.0 multiplies bytes as halves, in two products: one of the lower two bytes of
// each register, with nothing to add, and one of the upper two, which adds the first. An ordinary
// addition adds C and rounds; `sums` has the sums before that rounding.
HALO_NOINLINE void multiply_bytes(const Factors& given, bool in_halves, const float* c,
                                  double* sums) {
    const int m = given.m, n = given.n, k = given.k / 2;
    alignas(64) uint32_t a[MOST / 2], b[MOST / 2];
    alignas(64) float before[MOST / 2] = {};
    const auto half = [](uint32_t bits, const Factor& format) -> uint32_t {
        return half_of_float(static_cast<float>(value_of(bits, format)));
    };
    for (int part = 0; part < 2; ++part) {
        for (int at = 0; at < k; ++at) {
            const int depth = at / 2 * 4 + 2 * part + at % 2;
            for (int row = 0; row < m; ++row)
                a[row * k + at] = half(given.a[row * 2 * k + depth], given.format_of_a);
            for (int column = 0; column < n; ++column)
                b[(column / 8 * k + at) * 8 + column % 8] =
                    half(given.b[(column / 8 * 2 * k + depth) * 8 + column % 8], given.format_of_b);
        }
        add_products({a, b, F16_FACTOR, F16_FACTOR, m, n, k}, before, sums);
        for (int at = 0; at < m * n; ++at)
            before[at] = in_halves ? float_of_half(half_of_sum(sums[at])) : cut_to_float(sums[at]);
    }
    for (int at = 0; at < m * n; ++at) sums[at] = static_cast<double>(before[at]) + c[at];
}

// The instruction and what does not follow from its operands.
struct Multiplication {
    const Layout& layout;
    const Factor &a, &b;
    bool half_c, half_d;
    int registers;    // of A and of B, where they are more than the elements need (halves of wmma:
                      // 8); else 0
};

HALO_NOINLINE void multiply_floats(Lanes& w, const Instruction& i, const Multiplication& given) {
    const Layout& layout = given.layout;
    const int m = layout.m, n = layout.n, k = layout.k,
              d_registers = m * n / WARP_SIZE / (given.half_d ? 2 : 1);
    const int first_b =
        d_registers +
        (given.registers ? given.registers : Layout::registers(layout.a, layout.a_bits));
    const int first_c =
        first_b + (given.registers ? given.registers : Layout::registers(layout.b, layout.b_bits));
    alignas(64) uint32_t a_words[MOST], b_words[MOST], c_words[MOST / 2];
    alignas(64) float c[MOST / 2], d[MOST / 2];
    alignas(64) double sums[MOST / 2];
    gather_parts(w, i, d_registers, layout.a, layout.a_bits, a_words);
    if (UNLIKELY(w.without_products)) std::fill_n(a_words, m * k, 0);
    gather_parts(w, i, first_b, layout.b, layout.b_bits, b_words);
    if (given.half_c) {
        gather_parts(w, i, first_c, layout.sum, 16, c_words);
        for (int at = 0; at < m * n; ++at)
            c[at] = float_of_half(static_cast<uint16_t>(c_words[at]));
    } else {
        gather<float>(w, i, first_c, layout.sum, c);
    }
    const Factors factors = {a_words, b_words, given.a, given.b, m, n, k};
    const bool bytes = given.a.bits == 8;
    if (bytes) multiply_bytes(factors, given.half_d, c, sums);
    else add_products(factors, c, sums);
    if (given.half_d) {
        uint16_t halves[MOST / 2];
        for (int at = 0; at < m * n; ++at)
            halves[at] =
                bytes ? half_of_float(static_cast<float>(sums[at])) : half_of_sum(sums[at]);
        const uint16_t* index = layout.sum.data();
        for (int at = 0; at < 2 * d_registers; ++at, index += WARP_SIZE) {
            uint16_t* words = w.nth<uint16_t>(i, at / 2) + at % 2;
            for (int lane = 0; lane < WARP_SIZE; ++lane) words[2 * lane] = halves[index[lane]];
        }
    } else {
        for (int at = 0; at < m * n; ++at)
            d[at] = canonical(bytes ? static_cast<float>(sums[at]) : cut_to_float(sums[at]));
        scatter<float>(w, i, layout.sum, d);
    }
}
template <int m, int n, int k, const Factor& a, const Factor& b, bool half_c, bool half_d,
          int registers = 0>
void multiply(Lanes& w, const Instruction& i, uint32_t) {
    static const Layout layout(m, n, k, a.bits, b.bits);
    multiply_floats(w, i, {layout, a, b, half_c, half_d, registers});
}

// mma.m8n8k4 of halves: four products, each of the lanes 4 p to 4 p + 3 and of those 16 above them.
// No tensor core of this architecture has it: ptxas makes it of fused multiply-adds.
HALO_NOINLINE void multiply_by_quads(Lanes& w, const Instruction& i, bool column_a, bool row_b,
                                     bool half_c, bool half_d) {
    const int d_registers = half_d ? 4 : 8, first_b = d_registers + 2, first_c = first_b + 2;
    float a[4][8][4], b[4][4][8], sums[4][8][8];
    const auto half = [&](int first, int lane, int at) {
        return float_of_half(w.nth<uint16_t>(i, first + at / 2)[2 * lane + at % 2]);
    };
    const auto place_of_sum = [](bool in_halves, int lane, int at) {
        const int upper = lane / 16 * 4;
        if (in_halves) return Place{lane % 4 + upper, at};
        return Place{(lane & 1) + (at & 2) + upper, (at & 4) + (lane & 2) + (at & 1)};
    };
    for (int lane = 0; lane < WARP_SIZE; ++lane) {
        const int quad = lane % 16 / 4, upper = lane / 16 * 4, line = lane % 4;
        for (int at = 0; at < 4; ++at) {
            const Place p = column_a ? Place{at + upper, line} : Place{line + upper, at};
            const Place q = row_b ? Place{line, at + upper} : Place{at, line + upper};
            a[quad][p.row][p.column] = w.without_products ? 0 : half(d_registers, lane, at);
            b[quad][q.row][q.column] = half(first_b, lane, at);
        }
        for (int at = 0; at < 8; ++at) {
            const Place p = place_of_sum(half_c, lane, at);
            sums[quad][p.row][p.column] =
                half_c ? half(first_c, lane, at) : w.nth<float>(i, first_c + at)[lane];
        }
    }
    for (int quad = 0; quad < 4; ++quad)
        for (int at = 0; at < 64; ++at) {
            float& sum = sums[quad][at / 8][at % 8];
            const float* x = a[quad][at / 8];
            const auto y = [&](int k) { return b[quad][k][at % 8]; };
            const float first = std::fma(x[1], y(1), half_d ? x[0] * y(0) : x[0] * y(0) + 0.0f);
            if (half_d) sum = sum + first + std::fma(x[3], y(3), x[2] * y(2));
            else sum = std::fma(x[3], y(3), std::fma(x[2], y(2), first)) + sum;
        }
    for (int lane = 0; lane < WARP_SIZE; ++lane)
        for (int at = 0; at < 8; ++at) {
            const Place p = place_of_sum(half_d, lane, at);
            const float value = sums[lane % 16 / 4][p.row][p.column];
            if (half_d) w.nth<uint16_t>(i, at / 2)[2 * lane + at % 2] = half_of_float(value);
            else w.nth<float>(i, at)[lane] = canonical(value);
        }
}
template <bool column_a, bool row_b, bool half_c, bool half_d>
void multiply_quads(Lanes& w, const Instruction& i, uint32_t) {
    multiply_by_quads(w, i, column_a, row_b, half_c, half_d);
}

template <int m, int n, int k, const Factor& a, const Factor& b>
void of_floats(const std::string& types) {
    add_product("mma." + shape<m, n, k>() + ".row.col.f32." + types + ".f32",
                multiply<m, n, k, a, b, false, false>);
}
template <int m, int n, int k, const Factor& a, const Factor& b>
void of_halves(const std::string& types) {
    add_product("mma." + shape<m, n, k>() + ".row.col.f16." + types + ".f16",
                multiply<m, n, k, a, b, true, true>);
}
template <int k> void of_bytes() {
    of_floats<16, 8, k, E4M3_FACTOR, E4M3_FACTOR>("e4m3.e4m3");
    of_floats<16, 8, k, E4M3_FACTOR, E5M2_FACTOR>("e4m3.e5m2");
    of_floats<16, 8, k, E5M2_FACTOR, E4M3_FACTOR>("e5m2.e4m3");
    of_floats<16, 8, k, E5M2_FACTOR, E5M2_FACTOR>("e5m2.e5m2");
    of_halves<16, 8, k, E4M3_FACTOR, E4M3_FACTOR>("e4m3.e4m3");
    of_halves<16, 8, k, E4M3_FACTOR, E5M2_FACTOR>("e4m3.e5m2");
    of_halves<16, 8, k, E5M2_FACTOR, E4M3_FACTOR>("e5m2.e4m3");
    of_halves<16, 8, k, E5M2_FACTOR, E5M2_FACTOR>("e5m2.e5m2");
}
template <bool column_a, bool row_b> void of_quads() {
    const std::string start =
        std::string("mma.m8n8k4.") + (column_a ? "col" : "row") + (row_b ? ".row." : ".col.");
    add_product(start + "f32.f16.f16.f32", multiply_quads<column_a, row_b, false, false>);
    add_product(start + "f32.f16.f16.f16", multiply_quads<column_a, row_b, true, false>);
    add_product(start + "f16.f16.f16.f32", multiply_quads<column_a, row_b, false, true>);
    add_product(start + "f16.f16.f16.f16", multiply_quads<column_a, row_b, true, true>);
}

template <int m, int n, int k> void of_wmma() {
    const std::string size = shape<m, n, k>();
    for_layouts("wmma.mma.", size + ".f32.f32",
                multiply<m, n, k, F16_FACTOR, F16_FACTOR, false, false, 8>);
    for_layouts("wmma.mma.", size + ".f32.f16",
                multiply<m, n, k, F16_FACTOR, F16_FACTOR, true, false, 8>);
    for_layouts("wmma.mma.", size + ".f16.f32",
                multiply<m, n, k, F16_FACTOR, F16_FACTOR, false, true, 8>);
    for_layouts("wmma.mma.", size + ".f16.f16",
                multiply<m, n, k, F16_FACTOR, F16_FACTOR, true, true, 8>);
    for_layouts("wmma.mma.", size + ".f32.bf16.bf16.f32",
                multiply<m, n, k, BF16_FACTOR, BF16_FACTOR, false, false>);
}

const bool registered = [] {
    of_floats<16, 8, 8, F16_FACTOR, F16_FACTOR>("f16.f16");
    of_floats<16, 8, 16, F16_FACTOR, F16_FACTOR>("f16.f16");
    of_halves<16, 8, 8, F16_FACTOR, F16_FACTOR>("f16.f16");
    of_halves<16, 8, 16, F16_FACTOR, F16_FACTOR>("f16.f16");
    of_floats<16, 8, 8, BF16_FACTOR, BF16_FACTOR>("bf16.bf16");
    of_floats<16, 8, 16, BF16_FACTOR, BF16_FACTOR>("bf16.bf16");
    of_floats<16, 8, 4, TF32_FACTOR, TF32_FACTOR>("tf32.tf32");
    of_floats<16, 8, 8, TF32_FACTOR, TF32_FACTOR>("tf32.tf32");
    of_bytes<16>();
    of_bytes<32>();
    of_quads<false, false>();
    of_quads<false, true>();
    of_quads<true, false>();
    of_quads<true, true>();
    of_wmma<16, 16, 16>();
    of_wmma<32, 8, 16>();
    of_wmma<8, 32, 16>();
    for_layouts("wmma.mma.", "m16n16k8.f32.tf32.tf32.f32",
                multiply<16, 16, 8, TF32_FACTOR, TF32_FACTOR, false, false>);
    return true;
}();

}    // namespace
