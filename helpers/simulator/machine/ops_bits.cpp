// ops_bits.cpp -- logic, shifts, fields of bits and permutations of bytes
#include <algorithm>

#include "loops.h"

namespace {

using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

struct And {
    template <class T> static HALO_INLINE T of(T a, T b) { return static_cast<T>(a & b); }
};
struct Or {
    template <class T> static HALO_INLINE T of(T a, T b) { return static_cast<T>(a | b); }
};
struct ExclusiveOr {
    template <class T> static HALO_INLINE T of(T a, T b) { return static_cast<T>(a ^ b); }
};
struct Not {
    template <class T> static HALO_INLINE T of(T a) { return static_cast<T>(~a); }
};
struct LogicalNot {
    template <class T> static HALO_INLINE T of(T a) { return a == 0; }
};
struct Reversed {
    template <class T> static HALO_INLINE T of(T a) {
        uint64_t x = a;
        x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
        x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
        x = (x & 0x0F0F0F0F0F0F0F0F) << 4 | (x >> 4 & 0x0F0F0F0F0F0F0F0F);
        return static_cast<T>(__builtin_bswap64(x) >> (64 - 8 * sizeof(T)));
    }
};
struct Ones {
    template <class T> static HALO_INLINE uint32_t of(T a) {
        return static_cast<uint32_t>(__builtin_popcountll(a));
    }
};
struct LeadingZeros {
    template <class T> static HALO_INLINE uint32_t of(T a) {
        constexpr int bits = 8 * sizeof(T);
        return static_cast<uint32_t>(a == 0 ? bits : __builtin_clzll(a) - (64 - bits));
    }
};

template <class T, class Result, class Op>
void unary(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T* a = source<T>(w, i, 1);
    all_lanes(result_of<Result>(w, i), lanes, [=](int l) { return Op::template of<T>(a[l]); });
}
template <class T, class Op> void binary(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2);
    all_lanes(result_of<T>(w, i), lanes, [=](int l) { return Op::template of<T>(a[l], b[l]); });
}
template <class Op> void of_predicates(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t a = w.predicate(i.operand[1]), b = w.predicate(i.operand[2]);
    keep_predicate(w.predicate(i.operand[0]), Op::template of<uint32_t>(a, b), lanes);
}
void not_predicate(Lanes& w, const Instruction& i, uint32_t lanes) {
    keep_predicate(w.predicate(i.operand[0]), ~w.predicate(i.operand[1]), lanes);
}

// A shift by the width or more leaves nothing, or copies of the sign.
struct Left {
    template <class T> static HALO_INLINE T of(T a, uint32_t n) {
        constexpr uint32_t bits = 8 * sizeof(T);
        return n < bits ? static_cast<T>(a << (n & (bits - 1))) : T(0);
    }
};
struct Right {
    template <class T> static HALO_INLINE T of(T a, uint32_t n) {
        constexpr uint32_t bits = 8 * sizeof(T);
        return T(-1) < T(0) ? static_cast<T>(a >> (n < bits ? n : bits - 1))
               : n < bits   ? static_cast<T>(a >> (n & (bits - 1)))
                            : T(0);
    }
};
template <class T, class Op> void shift(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T* a = source<T>(w, i, 1);
    const uint32_t* n = source<uint32_t>(w, i, 2);
    all_lanes(result_of<T>(w, i), lanes, [=](int l) { return Op::template of<T>(a[l], n[l]); });
}
// shf: the pair b:a is shifted; .l keeps the upper half, .r the lower.
template <bool left> void funnel_shift(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    const bool wrap = i.flags & WRAP;
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        const uint32_t n = wrap ? c[l] & 31 : c[l] < 32 ? c[l] : 32;
        const uint64_t pair = static_cast<uint64_t>(b[l]) << 32 | a[l];
        return static_cast<uint32_t>(left ? pair << n >> 32 : pair >> n);
    });
}

// The truth table of lop3 has one bit for each combination of a, b and c. Three choices find it:
// by c, then by b, then by a.
struct Table {
    uint32_t low[4], differ[4];    // for each a, b: the row with c = 0, and whether c matters
    explicit Table(uint32_t table) {
        for (int k = 0; k < 4; ++k) {
            low[k] = 0u - (table >> 2 * k & 1);
            differ[k] = low[k] ^ (0u - (table >> (2 * k + 1) & 1));
        }
    }
    HALO_INLINE uint32_t of(uint32_t a, uint32_t b, uint32_t c) const {
        const uint32_t n0 = low[0] ^ (c & differ[0]), n1 = low[1] ^ (c & differ[1]);
        const uint32_t n2 = low[2] ^ (c & differ[2]), n3 = low[3] ^ (c & differ[3]);
        const uint32_t without = n0 ^ (b & (n0 ^ n1)), with = n2 ^ (b & (n2 ^ n3));
        return without ^ (a & (without ^ with));
    }
};
void lop3(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    const Table table(*source<uint32_t>(w, i, 4));
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) { return table.of(a[l], b[l], c[l]); });
}
// lop3.or.b32 d|p, a, b, c, table, q: p is whether d has a bit set, or q (and: and q).
template <class Op> void lop3_predicate(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 2), *b = source<uint32_t>(w, i, 3),
                   *c = source<uint32_t>(w, i, 4);
    const Table table(*source<uint32_t>(w, i, 5));
    uint32_t results[WARP_SIZE];
    for (int l = 0; l < WARP_SIZE; ++l) results[l] = table.of(a[l], b[l], c[l]);
    const uint32_t any = bits_where([&](int l) { return results[l] != 0; });
    const uint32_t both = Op::template of<uint32_t>(any, w.predicate(w.operand(i, 6)));
    if (i.operand[0] != -1) keep(result_of<uint32_t>(w, i), results, lanes);
    if (i.operand[1] != -1) keep_predicate(w.predicate(i.operand[1]), both, lanes);
}

// The position of the highest bit that is set (of a negative number: clear), or ~0; .shiftamt: by
// how much to shift it to the top.
template <class T> void find_highest(Lanes& w, const Instruction& i, uint32_t lanes) {
    using Word = typename Unsigned<sizeof(T)>::type;
    const T* a = source<T>(w, i, 1);
    const bool shift = i.flags & SHIFT_AMOUNT;
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        const Word x = static_cast<Word>(a[l] < 0 ? ~a[l] : a[l]);
        const uint32_t zeros = LeadingZeros::of<Word>(x);
        return x == 0 ? ~0u : shift ? zeros : static_cast<uint32_t>(8 * sizeof(T) - 1) - zeros;
    });
}
// Of a position or a length: instructions of 32 bits take the lowest byte, and what ptxas makes for
// 64 bits takes all of it.
template <class Word> HALO_INLINE uint32_t limited(uint32_t bits) {
    return sizeof(Word) == 8 ? std::min(bits, 0xFFu) : bits & 0xFF;
}
template <class T> void extract_field(Lanes& w, const Instruction& i, uint32_t lanes) {
    using Word = typename Unsigned<sizeof(T)>::type;
    constexpr uint32_t top = 8 * sizeof(T) - 1;
    const Word* a = source<Word>(w, i, 1);
    const uint32_t *from = source<uint32_t>(w, i, 2), *count = source<uint32_t>(w, i, 3);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) {
        const uint32_t position = limited<Word>(from[l]), length = limited<Word>(count[l]);
        const uint32_t last = std::min(position + length - 1, top);
        const bool is_signed = T(-1) < T(0) && length != 0;
        const Word fill = is_signed ? Word(0) - (a[l] >> last & 1) : Word(0);
        const Word value = position <= top ? a[l] >> (position & top) : fill;
        const Word mask = length <= top ? (Word(1) << (length & top)) - 1 : ~Word(0);
        const Word kept =
            position + length > top && position <= top && is_signed
                ? (top + 1 - position <= top ? (Word(1) << ((top + 1 - position) & top)) - 1
                                             : ~Word(0)) &
                      mask
                : mask;
        return (value & kept) | (fill & ~kept);
    });
}
template <class Word> void insert_field(Lanes& w, const Instruction& i, uint32_t lanes) {
    constexpr uint32_t top = 8 * sizeof(Word) - 1;
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    const uint32_t *from = source<uint32_t>(w, i, 3), *count = source<uint32_t>(w, i, 4);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) {
        const uint32_t position = limited<Word>(from[l]), length = limited<Word>(count[l]);
        const Word ones = length <= top ? (Word(1) << (length & top)) - 1 : ~Word(0);
        const Word mask = position <= top ? ones << (position & top) : Word(0);
        const Word value = position <= top ? a[l] << (position & top) : Word(0);
        return (value & mask) | (b[l] & ~mask);
    });
}
// bmsk: b ones from position a on.
void bit_mask(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2);
    const bool wrap = i.flags & WRAP;
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        const uint32_t from = wrap ? a[l] & 31 : std::min(a[l], 32u),
                       count = wrap ? b[l] & 31 : std::min(b[l], 32u);
        return static_cast<uint32_t>(((uint64_t(1) << count) - 1) << from);
    });
}
// szext: the low b bits of a, extended with zeros or with the highest of them.
template <bool with_sign> void extend_low_bits(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2);
    const bool wrap = i.flags & WRAP;
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        const uint32_t count = wrap ? b[l] & 31 : std::min(b[l], 32u), shift = (32 - count) & 31;
        const uint32_t top = a[l] << shift;
        const uint32_t value =
            with_sign ? static_cast<uint32_t>(static_cast<int32_t>(top) >> shift) : top >> shift;
        return count == 0 ? 0 : value;
    });
}
// fns: the n-th bit set, counted from a position up (n > 0) or down (n < 0).
void find_nth_set(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *mask = source<uint32_t>(w, i, 1), *base = source<uint32_t>(w, i, 2);
    const int32_t* offset = source<int32_t>(w, i, 3);
    lane_by_lane(result_of<uint32_t>(w, i), lanes, [=](int l) {
        const int step = offset[l] < 0 ? -1 : 1;
        int64_t left = offset[l] < 0 ? -int64_t(offset[l]) : std::max<int64_t>(offset[l], 1);
        for (int64_t at = base[l]; at >= 0 && at < 32; at += step) {
            if ((mask[l] >> at & 1) && --left == 0) return static_cast<uint32_t>(at);
            if (offset[l] == 0) break;
        }
        return ~0u;
    });
}

HALO_INLINE uint32_t byte_of(uint64_t bytes, uint32_t index) {
    return static_cast<uint32_t>(bytes >> 8 * index) & 0xFF;
}
enum class Permute {
    BY_NIBBLES,
    FORWARD,
    BACKWARD,
    REPLICATE_8,
    CLAMP_LEFT,
    CLAMP_RIGHT,
    REPLICATE_16
};
// Which of the 8 bytes of b:a goes to byte k.
template <Permute mode> HALO_INLINE uint32_t permuted_index(uint32_t selector, uint32_t k) {
    const uint32_t s = selector & 3;
    if (mode == Permute::FORWARD) return (s + k) & 7;
    if (mode == Permute::BACKWARD) return (s - k) & 7;
    if (mode == Permute::REPLICATE_8) return s;
    if (mode == Permute::CLAMP_LEFT) return std::max(s, k);
    if (mode == Permute::CLAMP_RIGHT) return std::min(s, k);
    return (s & 1) * 2 + (k & 1);
}
template <Permute mode> void permute_bytes(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        const uint64_t bytes = static_cast<uint64_t>(b[l]) << 32 | a[l];
        uint32_t result = 0;
        for (uint32_t k = 0; k < 4; ++k) {
            if (mode == Permute::BY_NIBBLES) {
                const uint32_t nibble = c[l] >> 4 * k & 15, value = byte_of(bytes, nibble & 7);
                // The nibble's highest bit asks for the byte's sign, eight times.
                const uint32_t sign = 0u - (value >> 7);
                result |= (nibble & 8 ? sign & 0xFF : value) << 8 * k;
            } else {
                result |= byte_of(bytes, permuted_index<mode>(c[l], k)) << 8 * k;
            }
        }
        return result;
    });
}

// dp4a, dp2a: bytes of b with bytes, or halves, of a.
template <class A, class B> HALO_INLINE uint32_t product(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<A>(a)) *
                                 static_cast<int32_t>(static_cast<B>(b)));
}
template <class A, class B> void dot_of_bytes(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        uint32_t sum = c[l];
        for (int k = 0; k < 32; k += 8) sum += product<A, B>(a[l] >> k, b[l] >> k);
        return sum;
    });
}
template <class A, class B, int first>
void dot_of_halves(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        return c[l] + product<A, B>(a[l], b[l] >> first) +
               product<A, B>(a[l] >> 16, b[l] >> (first + 8));
    });
}

template <class T, class Signed> void of_width(const char* bits) {
    const auto logic = [](std::uint8_t table) { return passes<T>(Passing::LOGIC, table); };
    add_operation({"and.b", bits}, binary<T, And>, "t", logic(0xC0));
    add_operation({"or.b", bits}, binary<T, Or>, "t", logic(0xFC));
    add_operation({"xor.b", bits}, binary<T, ExclusiveOr>, "t", logic(0x3C));
    add_operation({"not.b", bits}, unary<T, T, Not>, "t", logic(0x0F));
    add_operation({"cnot.b", bits}, unary<T, T, LogicalNot>);
    add_operation({"shl.b", bits}, shift<T, Left>, "ttu", passes<T>(Passing::SHIFT_LEFT));
    for (const char* name : {"shr.b", "shr.u"})
        add_operation({name, bits}, shift<T, Right>, "ttu", passes<T>(Passing::SHIFT_RIGHT));
    add_operation({"shr.s", bits}, shift<Signed, Right>, "ttu",
                  passes<Signed>(Passing::SHIFT_RIGHT));
}
template <class Word, class Signed> void fields(const char* bits) {
    add_operation({"popc.b", bits}, unary<Word, uint32_t, Ones>, "ut");
    add_operation({"clz.b", bits}, unary<Word, uint32_t, LeadingZeros>, "ut");
    add_operation({"brev.b", bits}, unary<Word, Word, Reversed>);
    add_operation({"bfind.u", bits}, find_highest<Word>, "ut");
    add_operation({"bfind.s", bits}, find_highest<Signed>, "ut");
    add_operation({"bfe.u", bits}, extract_field<Word>, "ttuu", passes<Word>(Passing::EXTRACT));
    add_operation({"bfe.s", bits}, extract_field<Signed>, "ttuu", passes<Signed>(Passing::EXTRACT));
    add_operation({"bfi.b", bits}, insert_field<Word>, "tttuu", passes<Word>(Passing::INSERT));
}
template <class A, class B> void dots(const char* types) {
    add_operation({"dp4a.", types}, dot_of_bytes<A, B>, "u");
}
template <class A, class B> void dots_of_halves(const char* types) {
    add_operation({"dp2a.lo.", types}, dot_of_halves<A, B, 0>, "u");
    add_operation({"dp2a.hi.", types}, dot_of_halves<A, B, 16>, "u");
}

const bool registered = [] {
    of_width<uint16_t, std::int16_t>("16"), of_width<uint32_t, int32_t>("32"),
        of_width<uint64_t, int64_t>("64");
    add_operation("and.pred", of_predicates<And>), add_operation("or.pred", of_predicates<Or>);
    add_operation("xor.pred", of_predicates<ExclusiveOr>);
    add_operation("not.pred", not_predicate);
    fields<uint32_t, int32_t>("32"), fields<uint64_t, int64_t>("64");
    add_operation("shf.l.b32", funnel_shift<true>, "tttu");
    add_operation("shf.r.b32", funnel_shift<false>, "tttu");
    add_operation("lop3.b32", lop3, "t", passes<uint32_t>(Passing::LOGIC));
    add_operation("lop3.or.b32", lop3_predicate<Or>, "tttttp");
    add_operation("lop3.and.b32", lop3_predicate<And>, "tttttp");
    add_operation("bmsk.b32", bit_mask);
    add_operation("szext.u32", extend_low_bits<false>);
    add_operation("szext.s32", extend_low_bits<true>);
    add_operation("fns.b32", find_nth_set);
    add_operation("prmt.b32", permute_bytes<Permute::BY_NIBBLES>, "t",
                  passes<uint32_t>(Passing::PERMUTE));
    add_operation("prmt.b32.f4e", permute_bytes<Permute::FORWARD>);
    add_operation("prmt.b32.b4e", permute_bytes<Permute::BACKWARD>);
    add_operation("prmt.b32.rc8", permute_bytes<Permute::REPLICATE_8>);
    add_operation("prmt.b32.ecl", permute_bytes<Permute::CLAMP_LEFT>);
    add_operation("prmt.b32.ecr", permute_bytes<Permute::CLAMP_RIGHT>);
    add_operation("prmt.b32.rc16", permute_bytes<Permute::REPLICATE_16>);
    using Byte = std::uint8_t;
    using SignedByte = std::int8_t;
    dots<Byte, Byte>("u32.u32"), dots<Byte, SignedByte>("u32.s32");
    dots<SignedByte, Byte>("s32.u32"), dots<SignedByte, SignedByte>("s32.s32");
    dots_of_halves<uint16_t, Byte>("u32.u32"), dots_of_halves<uint16_t, SignedByte>("u32.s32");
    dots_of_halves<std::int16_t, Byte>("s32.u32"),
        dots_of_halves<std::int16_t, SignedByte>("s32.s32");
    return true;
}();

}    // namespace
