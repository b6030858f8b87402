// ops_compare.cpp -- comparisons and choices: setp, set, selp, slct, testp
#include <type_traits>

#include "floats.h"

namespace {

using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

enum Comparison { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, UNORDERED };

// Return the lanes in which a comparison holds. The compiler makes vectors of these few; all other
// comparisons follow from them.
template <class T> HALO_NOINLINE uint32_t equal(const T* a, const T* b) {
    return bits_where([=](int l) { return a[l] == b[l]; });
}
template <class T> HALO_NOINLINE uint32_t less(const T* a, const T* b) {
    return bits_where([=](int l) { return a[l] < b[l]; });
}
template <class T> HALO_NOINLINE uint32_t not_greater(const T* a, const T* b) {
    if constexpr (!std::is_floating_point_v<T>) return ~less(b, a);
    return bits_where([=](int l) { return a[l] <= b[l]; });
}
template <class T> HALO_NOINLINE uint32_t ordered(const T* a, const T* b) {    // neither is a NaN
    if constexpr (!std::is_floating_point_v<T>) return ~0u;
    return bits_where([=](int l) { return (a[l] == a[l]) & (b[l] == b[l]); });
}
template <class T> HALO_NOINLINE uint32_t holds(Comparison c, const T* a, const T* b) {
    switch (c) {
    case EQ: return equal(a, b);
    case NE: return ~equal(a, b) & ordered(a, b);
    case LT: return less(a, b);
    case LE: return not_greater(a, b);
    case GT: return less(b, a);
    case GE: return not_greater(b, a);
    case EQU: return equal(a, b) | ~ordered(a, b);
    case NEU: return ~equal(a, b);
    case LTU: return ~not_greater(b, a);
    case LEU: return ~less(b, a);
    case GTU: return ~not_greater(a, b);
    case GEU: return ~less(a, b);
    case NUM: return ordered(a, b);
    default: return ~ordered(a, b);
    }
}

// The lanes in which a comparison holds. low: of numbers, or of the lower halves of pairs; high: of
// the upper halves.
struct Outcome {
    uint32_t low, high;
};
template <class T>
HALO_INLINE Outcome of_integers(const Lanes& w, const Instruction& i, int k, Comparison c) {
    return {holds(c, source<T>(w, i, k), source<T>(w, i, k + 1)), 0};
}
template <class Format>
HALO_NOINLINE Outcome of_floats(const Lanes& w, const Instruction& i, int k, Comparison c) {
    const Values<Format> first(w, i, k), second(w, i, k + 1);
    if constexpr (Format::count == WARP_SIZE) {
        return {holds(c, first.get(), second.get()), 0};
    } else {
        float a[2][WARP_SIZE], b[2][WARP_SIZE];
        for (int l = 0; l < 2 * WARP_SIZE; ++l)
            a[l % 2][l / 2] = first.get()[l], b[l % 2][l / 2] = second.get()[l];
        return {holds(c, a[0], b[0]), holds(c, a[1], b[1])};
    }
}
// Comparison, type and join are numbers, not template arguments, wherever code is: there are 1,300
// combinations.
HALO_NOINLINE Outcome compared(const Lanes& w, const Instruction& i, int k, Type type,
                               Comparison c) {
    switch (type) {
    case U16: return of_integers<uint16_t>(w, i, k, c);
    case U32: return of_integers<uint32_t>(w, i, k, c);
    case U64: return of_integers<uint64_t>(w, i, k, c);
    case S16: return of_integers<std::int16_t>(w, i, k, c);
    case S32: return of_integers<std::int32_t>(w, i, k, c);
    case S64: return of_integers<std::int64_t>(w, i, k, c);
    case F32: return of_floats<Single>(w, i, k, c);
    case F64: return of_floats<Double>(w, i, k, c);
    case F16: return of_floats<Half>(w, i, k, c);
    case F16X2: return of_floats<HalfPair>(w, i, k, c);
    case BF16: return of_floats<Brain>(w, i, k, c);
    default: return of_floats<BrainPair>(w, i, k, c);
    }
}
constexpr bool is_pair(Type type) { return type == F16X2 || type == BF16X2; }

enum Join { ALONE, AND, OR, XOR };
uint32_t joined(Join join, uint32_t bits, uint32_t given) {
    return join == AND   ? bits & given
           : join == OR  ? bits | given
           : join == XOR ? bits ^ given
                         : bits;
}
// p|q, a, b, c: p is the comparison joined with c, q its opposite joined with c; of pairs, p is the
// lower half's, q the upper's.
HALO_NOINLINE void put_predicates(Lanes& w, const Instruction& i, uint32_t lanes, Type type,
                                  Comparison c, Join join) {
    const int with_join = join != ALONE, both = i.count == 4 + with_join;
    const Outcome outcome = compared(w, i, 1 + both, type, c);
    const uint32_t given = with_join ? w.predicate(i.operand[3 + both]) : 0;
    const uint32_t other = is_pair(type) ? outcome.high : ~outcome.low;
    if (i.operand[0] != -1)
        keep_predicate(w.predicate(i.operand[0]), joined(join, outcome.low, given), lanes);
    if (both && i.operand[1] != -1)
        keep_predicate(w.predicate(i.operand[1]), joined(join, other, given), lanes);
}
template <Type type, Comparison c, Join join>
void set_predicate(Lanes& w, const Instruction& i, uint32_t lanes) {
    put_predicates(w, i, lanes, type, c, join);
}

// The same as a value: all ones or zero, 1.0 or 0.0, in each half where there are two.
HALO_NOINLINE void put_value(Lanes& w, const Instruction& i, uint32_t lanes, Type type,
                             Comparison c, Join join, uint32_t yes) {
    const Outcome outcome = compared(w, i, 1, type, c);
    const uint32_t given = join != ALONE ? w.predicate(i.operand[3]) : 0,
                   upper = is_pair(type) ? yes << 16 : 0;
    const uint32_t low = joined(join, outcome.low, given), high = joined(join, outcome.high, given);
    all_lanes(result_of<uint32_t>(w, i), lanes,
              [=](int l) { return (low >> l & 1 ? yes : 0) | (high >> l & 1 ? upper : 0); });
}
HALO_NOINLINE void put_short(Lanes& w, const Instruction& i, uint32_t lanes, Type type,
                             Comparison c, uint32_t yes) {
    const uint32_t bits = compared(w, i, 1, type, c).low;
    all_lanes(result_of<uint16_t>(w, i), lanes,
              [=](int l) { return static_cast<uint16_t>(bits >> l & 1 ? yes : 0); });
}
template <Type type, Comparison c, Join join, uint32_t yes>
void set_value(Lanes& w, const Instruction& i, uint32_t lanes) {
    put_value(w, i, lanes, type, c, join, yes);
}
template <Type type, Comparison c, uint32_t yes>
void set_short(Lanes& w, const Instruction& i, uint32_t lanes) {
    put_short(w, i, lanes, type, c, yes);
}

template <class Word> void select(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    const uint32_t which = w.predicate(i.operand[3]);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) { return which >> l & 1 ? a[l] : b[l]; });
}
template <class Word> void select_by_sign(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    const std::int32_t* c = source<std::int32_t>(w, i, 3);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) { return c[l] >= 0 ? a[l] : b[l]; });
}
// -0 is not negative, a NaN is neither.
template <class Word> void select_by_float(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    const Values<Single> third(w, i, 3);
    const float* c = third.get();
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) { return c[l] >= 0.0f ? a[l] : b[l]; });
}

enum class Class { FINITE, INFINITE, NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL };
template <class Word, int digits, Class wanted>
void test(Lanes& w, const Instruction& i, uint32_t lanes) {
    constexpr Word infinity = (~Word(0) >> 1) >> digits << digits, smallest = Word(1) << digits;
    const Word* a = source<Word>(w, i, 1);
    const uint32_t bits = bits_where([=](int l) {
        const Word size = a[l] & (~Word(0) >> 1);
        switch (wanted) {
        case Class::FINITE: return size < infinity;
        case Class::INFINITE: return size == infinity;
        case Class::NUMBER: return size <= infinity;
        case Class::NOT_A_NUMBER: return size > infinity;
        case Class::NORMAL: return size == 0 || (size >= smallest && size < infinity);
        default: return size != 0 && size < smallest;
        }
    });
    keep_predicate(w.predicate(i.operand[0]), bits, lanes);
}

// NAME.comparison{.and, .or, .xor}.types. Here the types have their dots.
HALO_NOINLINE void add_joined(const char* name, const char* comparison, const char* to,
                              const char* from, const Operation (&run)[4], const char* operands) {
    const char* const joins[4] = {"", ".and", ".or", ".xor"};
    for (int k = 0; k < 4; ++k)
        add_operation({name, comparison, joins[k], to, from}, run[k], operands);
}
template <Type type, Comparison c> void setp(const char* comparison, const char* from) {
    add_joined("setp.", comparison, "", from,
               {set_predicate<type, c, ALONE>, set_predicate<type, c, AND>,
                set_predicate<type, c, OR>, set_predicate<type, c, XOR>},
               "pttp");
}
// set with a join is older than 16-bit formats: it is here for sources of 32 and 64 bits.
template <Type type, Comparison c, uint32_t yes>
void set_as(const char* comparison, const char* to, const char* from) {
    if constexpr (type == U32 || type == S32 || type == U64 || type == S64 || type == F32 ||
                  type == F64)
        add_joined("set.", comparison, to, from,
                   {set_value<type, c, ALONE, yes>, set_value<type, c, AND, yes>,
                    set_value<type, c, OR, yes>, set_value<type, c, XOR, yes>},
                   "fttp");
    else
        add_operation({"set.", comparison, to, from}, set_value<type, c, ALONE, yes>, "fttp");
}
template <Type type, Comparison c, uint32_t yes>
void set_as_short(const char* comparison, const char* to, const char* from) {
    add_operation({"set.", comparison, to, from}, set_short<type, c, yes>, "fttp");
}
// Results: integers (s32 is as u32, all ones), f32, and numbers of 16 bits; of pairs a half each.
template <Type type, Comparison c> void both(const char* comparison, const char* from) {
    setp<type, c>(comparison, from);
    constexpr bool brain = type == BF16 || type == BF16X2;
    constexpr uint32_t one_16 = brain ? 0x3F80 : 0x3C00;
    if constexpr (is_pair(type)) {
        for (const char* to : {".u32", ".s32", ".u16x2"})
            set_as<type, c, 0xFFFF>(comparison, to, from);
        set_as<type, c, one_16>(comparison, from, from);
    } else {
        for (const char* to : {".u32", ".s32"}) set_as<type, c, 0xFFFFFFFF>(comparison, to, from);
        set_as<type, c, 0x3F800000>(comparison, ".f32", from);
        if constexpr (type == F16 || type == BF16)
            for (const char* to : {".u16", ".s16"})
                set_as_short<type, c, 0xFFFF>(comparison, to, from);
        set_as_short<type, c, one_16>(comparison, brain ? ".bf16" : ".f16", from);
    }
}

template <Type type> void of_each_float(const char* from) {
    both<type, EQ>("eq", from), both<type, NE>("ne", from), both<type, LT>("lt", from),
        both<type, LE>("le", from);
    both<type, GT>("gt", from), both<type, GE>("ge", from), both<type, EQU>("equ", from),
        both<type, NEU>("neu", from);
    both<type, LTU>("ltu", from), both<type, LEU>("leu", from), both<type, GTU>("gtu", from),
        both<type, GEU>("geu", from);
    both<type, NUM>("num", from), both<type, UNORDERED>("nan", from);
}
template <Type type> void of_equality(const char* from) {
    both<type, EQ>("eq", from), both<type, NE>("ne", from);
}
template <Type type> void of_order(const char* from) {
    of_equality<type>(from);
    both<type, LT>("lt", from), both<type, LE>("le", from), both<type, GT>("gt", from),
        both<type, GE>("ge", from);
    if constexpr (type == U16 || type == U32 || type == U64)
        both<type, LT>("lo", from), both<type, LE>("ls", from), both<type, GT>("hi", from),
            both<type, GE>("hs", from);
}
template <class Word> void choices(const std::vector<const char*>& types) {
    for (const char* type : types) {
        add_operation({"selp.", type}, select<Word>, "tttp", passes<Word>(Passing::SELECT));
        add_operation({"slct.", type, ".s32"}, select_by_sign<Word>, "ffft");
        add_operation({"slct.", type, ".f32"}, select_by_float<Word>, "ffft");
    }
}
template <class Word, int digits> void tests(const char* type) {
    add_operation({"testp.finite.", type}, test<Word, digits, Class::FINITE>, "pt");
    add_operation({"testp.infinite.", type}, test<Word, digits, Class::INFINITE>, "pt");
    add_operation({"testp.number.", type}, test<Word, digits, Class::NUMBER>, "pt");
    add_operation({"testp.notanumber.", type}, test<Word, digits, Class::NOT_A_NUMBER>, "pt");
    add_operation({"testp.normal.", type}, test<Word, digits, Class::NORMAL>, "pt");
    add_operation({"testp.subnormal.", type}, test<Word, digits, Class::SUBNORMAL>, "pt");
}

const bool registered = [] {
    of_each_float<F32>(".f32"), of_each_float<F64>(".f64"), of_each_float<F16>(".f16"),
        of_each_float<BF16>(".bf16");
    of_each_float<F16X2>(".f16x2"), of_each_float<BF16X2>(".bf16x2");
    of_order<U16>(".u16"), of_order<U32>(".u32"), of_order<U64>(".u64"), of_order<S16>(".s16"),
        of_order<S32>(".s32"), of_order<S64>(".s64");
    of_equality<U16>(".b16"), of_equality<U32>(".b32"), of_equality<U64>(".b64");
    choices<uint16_t>({"b16", "u16", "s16", "f16", "bf16"});
    choices<uint32_t>({"b32", "u32", "s32", "f32", "f16x2", "bf16x2"});
    choices<uint64_t>({"b64", "u64", "s64", "f64"});
    tests<uint32_t, 23>("f32"), tests<uint64_t, 52>("f64");
    return true;
}();

}    // namespace
