// matrix_registers.h -- the elements of fragments between registers and arrays, for mma and wmma
#pragma once
#include <vector>

#include "fragments.h"
#include "loops.h"

namespace {

using spread::Place;
using spread::Spread;
using spread::Use;
using std::int32_t;
using std::uint16_t;
using std::uint32_t;

// Elements of a factor: 16 x 64 (4 bits); those of 1 bit are counted in registers.
constexpr int MOST = 1024;

typedef int32_t Eight __attribute__((
    vector_size(32)));    // one number for each column; without AVX the compiler splits it
typedef uint32_t EightUnsigned __attribute__((vector_size(32)));

// Where the elements of the registers go: A by rows, the columns of B and of the sum in blocks of
// 8, each by rows.
struct Layout {
    int m, n, k, a_bits, b_bits;
    std::vector<uint16_t> a, b, sum;    // [place][lane]
    Layout(int m_, int n_, int k_, int a_bits_, int b_bits_)
        : m(m_), n(n_), k(k_), a_bits(a_bits_), b_bits(b_bits_) {
        a = table(Spread(Use::A, m, n, k, a_bits > 32 ? 1 : 32 / a_bits),
                  [this](Place p) { return p.row * k + p.column; });
        b = table(Spread(Use::B, m, n, k, b_bits > 32 ? 1 : 32 / b_bits),
                  [this](Place p) { return (p.column / 8 * k + p.row) * 8 + p.column % 8; });
        sum = table(Spread(Use::SUM, m, n, k, 2),
                    [this](Place p) { return (p.column / 8 * m + p.row) * 8 + p.column % 8; });
    }
    template <class F> static std::vector<uint16_t> table(const Spread& spread, F index) {
        std::vector<uint16_t> result;
        for (int place = 0; place < spread.elements(); ++place)
            for (int lane = 0; lane < WARP_SIZE; ++lane)
                result.push_back(static_cast<uint16_t>(index(spread.at(lane, place))));
        return result;
    }
    // Registers of 32 bits that a fragment takes.
    static int registers(const std::vector<uint16_t>& table, int bits) {
        return static_cast<int>(table.size()) / WARP_SIZE * bits / 32;
    }
};

template <class T> inline HALO_NOINLINE void gather(const Lanes& w, const Instruction& i, int first,
                                                    const std::vector<uint16_t>& table, T* out) {
    const uint16_t* index = table.data();
    const int places = static_cast<int>(table.size()) / WARP_SIZE;
    for (int place = 0; place < places; ++place, index += WARP_SIZE) {
        const T* values = w.nth<const T>(i, first + place);
        for (int lane = 0; lane < WARP_SIZE; ++lane) out[index[lane]] = values[lane];
    }
}
template <class T> inline HALO_NOINLINE void scatter(const Lanes& w, const Instruction& i,
                                                     const std::vector<uint16_t>& table,
                                                     const T* in) {
    const uint16_t* index = table.data();
    const int places = static_cast<int>(table.size()) / WARP_SIZE;
    for (int place = 0; place < places; ++place, index += WARP_SIZE) {
        T* values = w.nth<T>(i, place);
        for (int lane = 0; lane < WARP_SIZE; ++lane) values[lane] = in[index[lane]];
    }
}
// Elements of 4, 8 or 16 bits, 32 / bits in a register.
inline HALO_NOINLINE void gather_parts(const Lanes& w, const Instruction& i, int first,
                                       const std::vector<uint16_t>& table, int bits,
                                       uint32_t* out) {
    if (bits == 32) return gather<uint32_t>(w, i, first, table, out);
    const uint16_t* index = table.data();
    const int places = static_cast<int>(table.size()) / WARP_SIZE, in_register = 32 / bits;
    const uint32_t mask = (1u << bits) - 1;
    for (int place = 0; place < places; ++place, index += WARP_SIZE) {
        const uint32_t* words = w.nth<const uint32_t>(i, first + place / in_register);
        const int down = place % in_register * bits;
        for (int lane = 0; lane < WARP_SIZE; ++lane) out[index[lane]] = words[lane] >> down & mask;
    }
}

template <int m, int n, int k> std::string shape() {
    return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
}
inline void add_product(const Name& name, Operation run) {
    add_operation(name, run, "x", {Passing::PRODUCT});
}
// The name of wmma.mma has the layouts of the loads, which do not matter here.
inline void for_layouts(const char* start, const std::string& rest, Operation run) {
    for (const char* layouts : {"row.row.", "row.col.", "col.row.", "col.col."})
        add_product(std::string(start) + layouts + rest, run);
}

}    // namespace
