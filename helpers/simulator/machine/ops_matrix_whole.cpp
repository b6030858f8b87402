// ops_matrix_whole.cpp -- mma.sync and wmma.mma of integers and of doubles
//
// Integers are exact. Doubles: one fused multiply-add after another, in the order of k.
#include "floats.h"
#include "matrix_registers.h"

namespace {

using std::int64_t;

// Integers of 8 and 4 bits.
HALO_NOINLINE void multiply_integers(Lanes& w, const Instruction& i, const Layout& layout,
                                     bool signed_a, bool signed_b) {
    const int m = layout.m, n = layout.n, k = layout.k, bits = layout.a_bits,
              first_a = m * n / WARP_SIZE;
    const int first_b = first_a + Layout::registers(layout.a, bits),
              first_c = first_b + Layout::registers(layout.b, bits);
    alignas(64) uint32_t a[MOST], b[MOST];
    alignas(64) int32_t d[MOST / 2];
    gather_parts(w, i, first_a, layout.a, bits, a);
    if (UNLIKELY(w.without_products)) std::fill_n(a, m * k, 0);
    gather_parts(w, i, first_b, layout.b, bits, b);
    gather<int32_t>(w, i, first_c, layout.sum, d);
    const uint32_t sign = 1u << (bits - 1);    // (x ^ sign) - sign extends it
    const uint32_t sign_a = signed_a ? sign : 0, sign_b = signed_b ? sign : 0;
    for (int at = 0; at < m * k; ++at) a[at] = (a[at] ^ sign_a) - sign_a;
    for (int at = 0; at < n * k; ++at) b[at] = (b[at] ^ sign_b) - sign_b;
    const bool clamp = i.flags & (SATFINITE | SATURATE);
    for (int block = 0; block < n / 8; ++block)
        for (int row = 0; row < m; ++row) {
            Eight sums = {};    // at most 64 products of 16 bits
            for (int depth = 0; depth < k; ++depth) {
                Eight of_b;
                std::memcpy(&of_b, b + (block * k + depth) * 8, sizeof of_b);
                sums += of_b * static_cast<int32_t>(a[row * k + depth]);
            }
            int32_t* results = d + (block * m + row) * 8;
            for (int at = 0; at < 8; ++at) {
                const int64_t sum = int64_t(results[at]) + sums[at];
                const int64_t cut = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
                results[at] = static_cast<int32_t>(clamp ? cut : sum);
            }
        }
    scatter<int32_t>(w, i, layout.sum, d);
}
template <int m, int n, int k, int bits, bool signed_a, bool signed_b>
void multiply_whole(Lanes& w, const Instruction& i, uint32_t) {
    static const Layout layout(m, n, k, bits, bits);
    multiply_integers(w, i, layout, signed_a, signed_b);
}

// Single bits: how many differ, or are set in both. A register is one element here.
HALO_NOINLINE void count_bits(Lanes& w, const Instruction& i, const Layout& layout, bool differ) {
    const int m = layout.m, words = layout.k, first_a = m * 8 / WARP_SIZE;
    const int first_b = first_a + Layout::registers(layout.a, 32),
              first_c = first_b + Layout::registers(layout.b, 32);
    uint32_t a[MOST], b[MOST], d[MOST / 2];
    gather<uint32_t>(w, i, first_a, layout.a, a);
    gather<uint32_t>(w, i, first_b, layout.b, b);
    gather<uint32_t>(w, i, first_c, layout.sum, d);
    for (int at = 0; at < m * 8; ++at)
        for (int word = 0; word < words; ++word) {
            const uint32_t x = a[at / 8 * words + word], y = b[word * 8 + at % 8];
            d[at] += static_cast<uint32_t>(__builtin_popcount(differ ? x ^ y : x & y));
        }
    scatter<uint32_t>(w, i, layout.sum, d);
}
template <int m, int k, bool differ> void multiply_bits(Lanes& w, const Instruction& i, uint32_t) {
    static const Layout layout(m, 8, k / 32, 32, 32);
    count_bits(w, i, layout, differ);
}

HALO_NOINLINE void multiply_doubles(Lanes& w, const Instruction& i, const Layout& layout) {
    const int m = layout.m, k = layout.k, first_a = m * 8 / WARP_SIZE;
    const int first_b = first_a + m * k / WARP_SIZE, first_c = first_b + 8 * k / WARP_SIZE;
    double a[256], b[128], d[128];
    gather<double>(w, i, first_a, layout.a, a);
    if (UNLIKELY(w.without_products)) std::fill_n(a, m * k, 0);
    gather<double>(w, i, first_b, layout.b, b);
    gather<double>(w, i, first_c, layout.sum, d);
    if (i.flags & ROUND_MASK) {
        const RoundingMode mode(i.flags);
        for (int at = 0; at < m * 8; ++at)
            for (int depth = 0; depth < k; ++depth) {
                volatile double x = a[at / 8 * k + depth], y = b[depth * 8 + at % 8], z = d[at];
                volatile double sum = __builtin_fma(double(x), double(y), double(z));
                d[at] = settled(double(sum), double(x), double(z), double(y));
            }
    } else {
        for (int row = 0; row < m; ++row)
            for (int depth = 0; depth < k; ++depth)
                for (int at = 0; at < 8; ++at) {
                    // Each step settles its NaN: the host makes one with a sign of its own.
                    const double x = a[row * k + depth], y = b[depth * 8 + at];
                    const double z = d[row * 8 + at];
                    d[row * 8 + at] = settled(fused(x, y, z), x, z, y);
                }
    }
    scatter<double>(w, i, layout.sum, d);
}
template <int m, int k> void multiply_in_double(Lanes& w, const Instruction& i, uint32_t) {
    static const Layout layout(m, 8, k, 64, 64);
    multiply_doubles(w, i, layout);
}

template <int m, int n, int k, int bits> void of_integers() {
    const std::string start = "mma." + shape<m, n, k>() + ".row.col.s32.",
                      u = "u" + std::to_string(bits), s = "s" + std::to_string(bits);
    add_product(start + u + "." + u + ".s32", multiply_whole<m, n, k, bits, false, false>);
    add_product(start + u + "." + s + ".s32", multiply_whole<m, n, k, bits, false, true>);
    add_product(start + s + "." + u + ".s32", multiply_whole<m, n, k, bits, true, false>);
    add_product(start + s + "." + s + ".s32", multiply_whole<m, n, k, bits, true, true>);
}
template <int m, int n, int k> void of_bits() {
    const std::string name = "mma." + shape<m, n, k>() + ".row.col.s32.b1.b1.s32";
    add_product(name + ".xor.popc", multiply_bits<m, k, true>);
    add_product(name + ".and.popc", multiply_bits<m, k, false>);
}
template <int m, int n, int k> void of_doubles() {
    add_product("mma." + shape<m, n, k>() + ".row.col.f64.f64.f64.f64", multiply_in_double<m, k>);
}
template <int m, int n, int k> void of_wmma() {
    const std::string size = shape<m, n, k>();
    for_layouts("wmma.mma.", size + ".s32.u8.u8.s32", multiply_whole<m, n, k, 8, false, false>);
    for_layouts("wmma.mma.", size + ".s32.s8.s8.s32", multiply_whole<m, n, k, 8, true, true>);
}

const bool registered = [] {
    of_doubles<8, 8, 4>();
    of_doubles<16, 8, 4>();
    of_doubles<16, 8, 8>();
    of_doubles<16, 8, 16>();
    of_integers<8, 8, 16, 8>();
    of_integers<16, 8, 16, 8>();
    of_integers<16, 8, 32, 8>();
    of_integers<8, 8, 32, 4>();
    of_integers<16, 8, 32, 4>();
    of_integers<16, 8, 64, 4>();
    of_bits<8, 8, 128>();
    of_bits<16, 8, 128>();
    of_bits<16, 8, 256>();
    for_layouts("wmma.mma.", "m8n8k4.f64.f64.f64.f64", multiply_in_double<8, 4>);
    for_layouts("wmma.mma.", "m8n8k32.s32.u4.u4.s32", multiply_whole<8, 8, 32, 4, false, false>);
    for_layouts("wmma.mma.", "m8n8k32.s32.s4.s4.s32", multiply_whole<8, 8, 32, 4, true, true>);
    for_layouts("wmma.mma.xor.popc.", "m8n8k128.s32.b1.b1.s32", multiply_bits<8, 128, true>);
    for_layouts("wmma.mma.and.popc.", "m8n8k128.s32.b1.b1.s32", multiply_bits<8, 128, false>);
    of_wmma<16, 16, 16>();
    of_wmma<32, 8, 16>();
    of_wmma<8, 32, 16>();
    return true;
}();

}    // namespace
