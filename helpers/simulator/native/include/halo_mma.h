// halo_mma.h -- nvcuda::wmma, what mma.h declares: matrix fragments of __half, __nv_bfloat16 and TF32
//
// A fragment is spread over the lanes of a warp as on compute capability 9.0, and is loaded and stored by the same accesses: pairs of
// neighbouring elements, 4 bytes for 16-bit types and 8 bytes for float accumulators; where the matrix lies the other way round, 16-bit
// blocks of 8x8 are transposed between the lanes, and floats are accessed one by one. (From shared memory a GPU reads such blocks by
// ldmatrix: one request with the same wavefronts where rows do not share banks.) Which lane holds what is not specified by CUDA.
//
// Products are exact in float32. They are added to the accumulator in float32, in the order of k; a half accumulator is rounded once, at the
// end. A GPU's order and rounding are not specified: results agree within a few units of float32 rounding of the sum of the absolute products.
// TF32 operands are read without their low 13 bits: convert them with __float_to_tf32 to round them.
//
// A source may define macros with short names before it includes this: no name in here is shorter than three letters.
#pragma once
#include "halo_bf16.h"
#include "halo_fp16.h"
#include "halo_lanes.h"

extern "C++" {
namespace nvcuda {
namespace wmma {
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision {
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };
}    // namespace wmma
}    // namespace nvcuda

namespace halo {
using namespace nvcuda;

template <class Element> struct Stored { using type = Element; };
template <> struct Stored<wmma::precision::tf32> { using type = float; };
template <class Element> constexpr bool is_wmma_input = std::is_same_v<Element, __half> || std::is_same_v<Element, __nv_bfloat16>;

template <class Use, int rows, int columns, int depth, class Element> constexpr bool has_fragment() {
    constexpr bool wide = (rows == 16 && columns == 16) || (rows == 32 && columns == 8) || (rows == 8 && columns == 32);
    constexpr bool tf32 = rows == 16 && columns == 16 && depth == 8;
    if (std::is_same_v<Use, wmma::accumulator>)
        return (wide && depth == 16 && (std::is_same_v<Element, __half> || std::is_same_v<Element, float>)) || (tf32 && std::is_same_v<Element, float>);
    return std::is_same_v<Element, wmma::precision::tf32> ? tf32 : wide && depth == 16 && is_wmma_input<Element>;
}

// A fragment is made of blocks of 8 x 8 (TF32: 8 x 4). Along `major` a block has 8 lines of 4 lanes each, along `minor` a lane holds two
// neighbouring elements (TF32: one). `minor` is k for both operands, so a line of a row-major A or of a column-major B is contiguous.
template <class Use, int rows, int columns, int depth, class Element> struct Spread {
    static constexpr bool left = std::is_same_v<Use, wmma::matrix_a>, right = std::is_same_v<Use, wmma::matrix_b>, sum = !left && !right;
    static constexpr bool sum_by_columns = sum && rows < columns;    // 8x32 is computed as its transpose
    static constexpr int major = left ? rows : right ? columns : sum_by_columns ? columns : rows;
    static constexpr int minor = sum ? (sum_by_columns ? rows : columns) : depth;
    static constexpr int pair = std::is_same_v<Element, wmma::precision::tf32> ? 1 : 2;
    static constexpr int blocks_major = major / 8, blocks_minor = minor / (4 * pair);
    static constexpr int blocks = blocks_major * blocks_minor, elements = blocks * pair;
    static constexpr bool minor_first = right && blocks_major == 2;    // the order of blocks in the fragment
    HALO_INLINE static constexpr int block_major(int block) {
        return minor_first ? block / blocks_minor : blocks_major == 1 ? 0 : block / (2 * blocks_minor) * 2 + block % 2;
    }
    HALO_INLINE static constexpr int block_minor(int block) {
        return minor_first ? block % blocks_minor : blocks_major == 1 ? block : block % (2 * blocks_minor) / 2;
    }
    // Where an element is: 0 to 31 for the lane, and its place in the lane's part of the fragment.
    HALO_INLINE static constexpr int lane_of(int at_major, int at_minor) { return at_major % 8 * 4 + at_minor / pair % 4; }
    HALO_INLINE static constexpr int place_of(int at_major, int at_minor) {
        int along = at_major / 8, across = at_minor / (4 * pair);
        int block = minor_first ? along * blocks_minor + across : blocks_major == 1 ? across : along / 2 * (2 * blocks_minor) + across * 2 + along % 2;
        return block * pair + at_minor % pair;
    }
    HALO_INLINE static constexpr int major_of(int lane, int place) { return block_major(place / pair) * 8 + lane / 4; }
    HALO_INLINE static constexpr int minor_of(int lane, int place) { return block_minor(place / pair) * (4 * pair) + lane % 4 * pair + place % pair; }
};

// What the lanes tell each other when they load or store together: the call, and pairs of 16-bit elements that are to be transposed.
struct Together {
    const void* pointer;
    unsigned stride, layout;
    std::uint32_t pairs[8];
};

HALO_INLINE void check_fragment(const void* pointer, unsigned stride, unsigned element_bytes, const char* file, unsigned line) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % 32 != 0)
        halo_assert_fail("wmma: the pointer is not a multiple of 32 bytes", file, line);
    if (stride * element_bytes % 16 != 0)
        halo_assert_fail("wmma: the leading dimension is not a multiple of 16 bytes", file, line);
}
// All lanes meet here. `mine` comes back with what this lane holds after each 8x8 block of pairs is transposed.
template <int blocks> HALO_UNOBSERVED void transpose_pairs(const Together* all, int lane, Together* mine) {
    for (int block = 0; block < blocks; ++block) {
        // This lane wants line lane / 4 at 2 * (lane % 4) and the next; as columns these lie with two lines of four lanes.
        int column = lane / 4, line = lane % 4 * 2;
        std::uint32_t low = all[line * 4 + column / 2].pairs[block], high = all[(line + 1) * 4 + column / 2].pairs[block];
        int shift = column % 2 * 16;
        mine->pairs[block] = (low >> shift & 0xFFFF) | (high >> shift & 0xFFFF) << 16;
    }
}
template <int blocks> HALO_INLINE void meet(Together& mine, bool transpose, const char* file, unsigned line) {
    Together all[32];
    unsigned participants;
    halo_warp_exchange(all_lanes, line, &mine, sizeof mine, all, &participants);
    if (participants != all_lanes) halo_assert_fail("wmma: needs all 32 lanes of a warp", file, line);
    unsigned lane = lane_number();
    if (all[0].pointer != mine.pointer || all[0].stride != mine.stride || all[0].layout != mine.layout)
        halo_assert_fail("wmma: the lanes do not agree on pointer, stride and layout", file, line);
    if (transpose) transpose_pairs<blocks>(all, static_cast<int>(lane), &mine);
}

template <class Value> HALO_UNOBSERVED void unpack_pairs(const Together* given, Value* elements, int blocks, int count) {
    for (int place = 0; place < count; ++place) {
        std::uint32_t both = given->pairs[place / 2 % blocks];
        elements[place] = bits<Value>(static_cast<std::uint16_t>(both >> (place % 2 * 16)));
    }
}
template <class Value> HALO_UNOBSERVED void pack_pairs(Together* given, const Value* elements, int blocks) {
    for (int block = 0; block < blocks; ++block)
        given->pairs[block] = bits<std::uint16_t>(elements[2 * block]) | static_cast<std::uint32_t>(bits<std::uint16_t>(elements[2 * block + 1])) << 16;
}

// `along` is true where memory runs along the minor direction.
template <class Layout, class Value> HALO_INLINE void load_fragment(Value* elements, int count, const Value* pointer, unsigned stride, bool along,
                                                                  unsigned layout, const char* file, unsigned line) {
    check_fragment(pointer, stride, sizeof(Value), file, line);
    const int lane = static_cast<int>(lane_number());
    Together mine = {pointer, stride, layout, {}};
    if constexpr (sizeof(Value) == 2) {
        for (int block = 0; block < Layout::blocks; ++block) {
            int major = Layout::block_major(block) * 8, minor = Layout::block_minor(block) * 8;
            int first = (along ? major : minor) + lane / 4, second = (along ? minor : major) + lane % 4 * 2;
            mine.pairs[block] = *reinterpret_cast<const register4*>(pointer + std::size_t(first) * stride + second);
        }
        meet<Layout::blocks>(mine, !along, file, line);
        unpack_pairs(&mine, elements, Layout::blocks, count);
    } else {
        for (int place = 0; place < Layout::elements; place += Layout::pair) {
            std::size_t major = Layout::major_of(lane, place), minor = Layout::minor_of(lane, place);
            if (!along) {
                elements[place] = pointer[minor * stride + major];
                if (Layout::pair == 2) elements[place + 1] = pointer[(minor + 1) * stride + major];
            } else if (Layout::pair == 2) {
                register8 both = *reinterpret_cast<const register8*>(pointer + major * stride + minor);
                elements[place] = bits<float>(static_cast<std::uint32_t>(both)), elements[place + 1] = bits<float>(static_cast<std::uint32_t>(both >> 32));
            } else {
                elements[place] = pointer[major * stride + minor];
            }
        }
        meet<1>(mine, false, file, line);
    }
}

template <class Layout, class Value> HALO_INLINE void store_fragment(Value* pointer, const Value* elements, unsigned stride, bool along, unsigned layout,
                                                                    const char* file, unsigned line) {
    check_fragment(pointer, stride, sizeof(Value), file, line);
    const int lane = static_cast<int>(lane_number());
    Together mine = {pointer, stride, layout, {}};
    if constexpr (sizeof(Value) == 2) {
        pack_pairs(&mine, elements, Layout::blocks);
        meet<Layout::blocks>(mine, !along, file, line);
        for (int block = 0; block < Layout::blocks; ++block) {
            int major = Layout::block_major(block) * 8, minor = Layout::block_minor(block) * 8;
            int first = (along ? major : minor) + lane / 4, second = (along ? minor : major) + lane % 4 * 2;
            *reinterpret_cast<register4*>(pointer + std::size_t(first) * stride + second) = mine.pairs[block];
        }
    } else {
        meet<1>(mine, false, file, line);
        for (int place = 0; place < Layout::elements; place += 2) {
            std::size_t major = Layout::major_of(lane, place), minor = Layout::minor_of(lane, place);
            if (along) {
                *reinterpret_cast<register8*>(pointer + major * stride + minor) =
                    bits<std::uint32_t>(elements[place]) | static_cast<register8>(bits<std::uint32_t>(elements[place + 1])) << 32;
            } else {
                pointer[minor * stride + major] = elements[place];
                pointer[(minor + 1) * stride + major] = elements[place + 1];
            }
        }
    }
}

HALO_INLINE float operand_value(wmma::precision::tf32*, float value) { return bits<float>(bits<std::uint32_t>(value) & 0xFFFFE000u); }
HALO_INLINE float operand_value(__half*, __half value) { return value; }
HALO_INLINE float operand_value(__nv_bfloat16*, __nv_bfloat16 value) { return value; }

struct Operands { float left[16], right[16]; };
template <class Element, class Left, class Right, class Value> HALO_UNOBSERVED void gather_operands(Operands* mine, const Value* left, const Value* right) {
    for (int place = 0; place < Left::elements; ++place) mine->left[place] = operand_value(static_cast<Element*>(nullptr), left[place]);
    for (int place = 0; place < Right::elements; ++place) mine->right[place] = operand_value(static_cast<Element*>(nullptr), right[place]);
}
template <int depth, class Left, class Right, class Sum, class Value, class Addend>
HALO_UNOBSERVED void multiply_operands(const Operands* all, int lane, Value* result, const Addend* addend) {
    for (int place = 0; place < Sum::elements; ++place) {
        int major = Sum::major_of(lane, place), minor = Sum::minor_of(lane, place);
        int row = Sum::sum_by_columns ? minor : major, column = Sum::sum_by_columns ? major : minor;
        float total = addend[place];
        for (int step = 0; step < depth; ++step)
            total += all[Left::lane_of(row, step)].left[Left::place_of(row, step)] * all[Right::lane_of(column, step)].right[Right::place_of(column, step)];
        result[place] = total;
    }
}
}    // namespace halo

namespace nvcuda {
namespace wmma {

template <class Use, int rows_, int columns_, int depth_, class Element, class Layout = void> class fragment {
    static_assert(halo::has_fragment<Use, rows_, columns_, depth_, Element>(),
                  "the simulator's wmma has __half and __nv_bfloat16 in 16x16x16, 32x8x16 and 8x32x16, precision::tf32 in 16x16x8, with accumulators of "
                  "float (and of __half for __half); integers, double and sub-byte types need a GPU");
    static_assert(std::is_same_v<Use, accumulator> == std::is_same_v<Layout, void>, "wmma: matrix_a and matrix_b have a layout, row_major or col_major; an accumulator has none");
    using spread = halo::Spread<Use, rows_, columns_, depth_, Element>;

public:
    using element_type = Element;
    using storage_element_type = typename halo::Stored<Element>::type;
    // The elements of a __half operand are held more than once where there are fewer than 16 for a lane, as in CUDA.
    enum { num_elements = !std::is_same_v<Use, accumulator> && std::is_same_v<Element, __half> ? 16 : spread::elements, num_storage_elements = num_elements };
    storage_element_type x[num_elements];
};

HALO_INLINE float __float_to_tf32(float given) {
    // To the nearest of 10 bits, ties away from zero: half a unit is added to the size, and what lies below is cut off.
    std::uint32_t pattern = halo::bits<std::uint32_t>(given);
    std::uint32_t finite = 0u - std::uint32_t((pattern & 0x7F800000u) != 0x7F800000u), nan = 0u - std::uint32_t((pattern & 0x7FFFFFFFu) > 0x7F800000u);
    return halo::bits<float>(((pattern + (finite & 0x1000u)) & 0xFFFFE000u & ~nan) | (nan & 0x7FFFFFFFu));
}

template <class Use, int rows_, int columns_, int depth_, class Element, class Layout>
HALO_INLINE void fill_fragment(fragment<Use, rows_, columns_, depth_, Element, Layout>& given, const typename halo::Stored<Element>::type& value) {
    const auto held = value;
    for (int place = 0; place < given.num_elements; ++place) given.x[place] = held;
}

template <class Use, int rows_, int columns_, int depth_, class Element, class Layout>
HALO_INLINE void load_matrix_sync(fragment<Use, rows_, columns_, depth_, Element, Layout>& given, const typename halo::Stored<Element>::type* pointer,
                                  unsigned stride, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    static_assert(!std::is_same_v<Use, accumulator>, "wmma: loading an accumulator takes a layout, mem_row_major or mem_col_major");
    constexpr bool along = std::is_same_v<Layout, row_major> == std::is_same_v<Use, matrix_a>;
    halo::load_fragment<halo::Spread<Use, rows_, columns_, depth_, Element>>(given.x, given.num_elements, pointer, stride, along, 0, file, line);
}
template <int rows_, int columns_, int depth_, class Element>
HALO_INLINE void load_matrix_sync(fragment<accumulator, rows_, columns_, depth_, Element>& given, const halo::same<Element>* pointer, unsigned stride,
                                  layout_t layout, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    using spread = halo::Spread<accumulator, rows_, columns_, depth_, Element>;
    halo::load_fragment<spread>(given.x, given.num_elements, pointer, stride, (layout == mem_row_major) != spread::sum_by_columns, layout, file, line);
}
template <int rows_, int columns_, int depth_, class Element>
HALO_INLINE void store_matrix_sync(halo::same<Element>* pointer, const fragment<accumulator, rows_, columns_, depth_, Element>& given, unsigned stride,
                                   layout_t layout, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    using spread = halo::Spread<accumulator, rows_, columns_, depth_, Element>;
    halo::store_fragment<spread>(pointer, given.x, stride, (layout == mem_row_major) != spread::sum_by_columns, layout, file, line);
}

template <int rows_, int columns_, int depth_, class Result, class Element, class LeftLayout, class RightLayout, class Addend>
HALO_INLINE void mma_sync(fragment<accumulator, rows_, columns_, depth_, Result>& result,
                          const fragment<matrix_a, rows_, columns_, depth_, Element, LeftLayout>& left,
                          const fragment<matrix_b, rows_, columns_, depth_, Element, RightLayout>& right,
                          const fragment<accumulator, rows_, columns_, depth_, Addend>& addend, unsigned line = __builtin_LINE()) {
    static_assert(std::is_same_v<Element, __half> || (std::is_same_v<Result, float> && std::is_same_v<Addend, float>),
                  "wmma: __nv_bfloat16 and TF32 operands take float accumulators");
    using LeftSpread = halo::Spread<matrix_a, rows_, columns_, depth_, Element>;
    using RightSpread = halo::Spread<matrix_b, rows_, columns_, depth_, Element>;
    using SumSpread = halo::Spread<accumulator, rows_, columns_, depth_, Result>;
    halo::Operands mine, all[32];
    unsigned participants;
    halo::gather_operands<Element, LeftSpread, RightSpread>(&mine, left.x, right.x);
    halo_warp_exchange(halo::all_lanes, line, &mine, sizeof mine, all, &participants);
    halo::multiply_operands<depth_, LeftSpread, RightSpread, SumSpread>(all, static_cast<int>(halo::lane_number()), result.x, addend.x);
}

}    // namespace wmma
}    // namespace nvcuda
}
