// fragments.h -- the places of a matrix's elements in the registers of a warp, for mma and wmma
//
// The PTX manual has them for mma. It does not for wmma: these are the places of compute capability
// 9.0, as ptxas's code for wmma shows them. A fragment consists of blocks. Along `major`, a block
// has 8 lines of 4 lanes each. Along `minor`, a lane holds `pack` neighbours, as many as fit into a
// register of 32 bits (a float accumulator has two registers; TF32 and double have one element).
#pragma once

namespace spread {

enum class Use { A, B, SUM };
struct Place {
    int row, column;
};    // of A: m, k; of B: k, n; of the sum: m, n

struct Spread {
    Use use;
    int major, minor, pack;
    bool transposed;                   // a sum of 8 x 32 is computed as its transpose
    int blocks_major, blocks_minor;
    bool minor_first;                  // the order of blocks

    constexpr Spread(Use use_, int m, int n, int k, int pack_)
        : use(use_),
          major(use_ == Use::A            ? m
                : use_ == Use::B || m < n ? n
                                          : m),
          minor(use_ != Use::SUM ? k
                : m < n          ? m
                                 : n),
          pack(use_ == Use::SUM ? 2 : pack_),
          transposed(use_ == Use::SUM && m < n),
          blocks_major(major / 8),
          blocks_minor(minor / (4 * pack)),
          minor_first(use_ == Use::B && blocks_major == 2) {}

    // Elements that a lane holds; the registers of an A or B of half hold them more than once where
    // there are fewer than 16.
    constexpr int elements() const { return blocks_major * blocks_minor * pack; }
    // Returns the place in the matrix of the element at `place` of a lane's fragment.
    constexpr Place at(int lane, int place) const {
        const int block = place / pack, two = 2 * blocks_minor;
        const int along = minor_first         ? block / blocks_minor
                          : blocks_major == 1 ? 0
                                              : block / two * 2 + block % 2;
        const int across = minor_first         ? block % blocks_minor
                           : blocks_major == 1 ? block
                                               : block % two / 2;
        const int a = along * 8 + lane / 4, b = across * 4 * pack + lane % 4 * pack + place % pack;
        return use == Use::B || transposed ? Place{b, a} : Place{a, b};
    }
};

}    // namespace spread
