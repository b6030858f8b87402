// fragments.h -- which lane of a warp holds which element of a matrix, for wmma.load, wmma.store and wmma.mma
//
// A fragment is made of blocks. Along `major` a block has 8 lines of 4 lanes each; along `minor`, which is k for both operands, each
// lane holds `together` neighbouring elements, what a register of 32 bits takes (TF32 and f64: one; sums: two). This is the spread
// of mma.m16n8k16 and its like, and what compute capability 9.0 does for wmma, where PTX leaves it open.
//
// A lane's elements are numbered as they lie in its registers, the lower bits first. The registers of f16 operands hold every element
// more than once (8 registers in all shapes): number e is element e % elements().
#pragma once
#include <cstdint>

enum FragmentUse : std::uint8_t { MATRIX_A, MATRIX_B, MATRIX_SUM };    // MATRIX_SUM: c and d

struct Fragment {
    FragmentUse use;
    int m, n, k;
    int bits;    // of an element: 1, 4, 8, 16, 32 (TF32, f32, s32), 64

    struct Cell { int row, column; };

    // m8n32: the sum is computed as its transpose.
    constexpr bool by_columns() const { return use == MATRIX_SUM && m < n; }
    constexpr int rows() const { return use == MATRIX_B ? k : m; }
    constexpr int columns() const { return use == MATRIX_A ? k : n; }
    constexpr int major() const { return use == MATRIX_A ? m : use == MATRIX_B ? n : by_columns() ? n : m; }
    constexpr int minor() const { return use != MATRIX_SUM ? k : by_columns() ? m : n; }
    constexpr int together() const { return use == MATRIX_SUM ? 2 : bits >= 32 ? 1 : 32 / bits; }
    constexpr int blocks_major() const { return major() / 8; }
    constexpr int blocks_minor() const { return minor() / (4 * together()); }
    constexpr int blocks() const { return blocks_major() * blocks_minor(); }
    constexpr int elements() const { return blocks() * together(); }    // of one lane
    // Where a block lies, in blocks.
    constexpr int block_major(int block) const {
        if (minor_first()) return block / blocks_minor();
        return blocks_major() == 1 ? 0 : block / (2 * blocks_minor()) * 2 + block % 2;
    }
    constexpr int block_minor(int block) const {
        if (minor_first()) return block % blocks_minor();
        return blocks_major() == 1 ? block : block % (2 * blocks_minor()) / 2;
    }
    // Where an element of a lane lies in the matrix.
    constexpr Cell cell(int lane, int element) const {
        const int block = element % elements() / together();
        const int at_major = block_major(block) * 8 + lane / 4;
        const int at_minor = block_minor(block) * 4 * together() + lane % 4 * together() + element % together();
        return use == MATRIX_B || by_columns() ? Cell{at_minor, at_major} : Cell{at_major, at_minor};
    }

private:
    constexpr bool minor_first() const { return use == MATRIX_B && blocks_major() == 2; }
};
